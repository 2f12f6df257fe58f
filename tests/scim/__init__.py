"""Tests of SCIM 2."""

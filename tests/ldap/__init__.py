"""Tests of signing in by LDAP."""

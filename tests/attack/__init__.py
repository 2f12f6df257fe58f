"""Attacks by those who hold a credential, or none: what each may not reach stays out of reach.

Everything is asked over HTTP of a Ragstone with real stores, on this machine alone.
"""

"""Background work: which process does it, when, and how failures are handled.

The table of jobs decides what is done next and by whom (`store.sql.jobs`); `runner` takes from it
as much as this process may run, and `workers` sees which processes have died.
"""

"""Work that goes on in the background: who does it, when, and what happens when it fails.

The table of jobs decides what is done next and by whom (`store.sql.jobs`); `runner` takes from it
as much as this process may run, DBOS runs every attempt as a workflow (`workflows`), and `workers`
sees which processes have died.
"""

"""The studio: a local page to explore accuracy against privacy, `pbdp studio`.

    browser ── server (`app`, behind `guard`) ── workers (`worker`, processes) ── pbdp

The server only passes on: it checks who asks (`guard`), waits and cancels (`jobs`, `pool`), and hands out the
files in `assets`. What is asked is read, bounded and answered in a worker (`tasks`), with the functions that
anybody else would call: `pbdp.plan`, `Budget`, `pbdp.tables`.

    form.py, words.py, explore.py, downloads.py      one number: Explore
    budgets.py                                       what a ledger says, and prices
    query_form.py, tables.py, publishing.py          group-by tables
    lines.py, table_lines.py                         what can be copied: Python, commands, query files
    openapi.py                                       the HTTP interface in its own words
"""

"""The studio: a local page to explore accuracy against privacy, `pbdp studio`.

    browser ── server (`app`, behind `guard`) ── workers (`worker`, processes) ── pbdp

The server only passes on: it checks who asks (`guard`), waits and cancels (`jobs`, `pool`), and hands out the
files in `assets`. What a view asks is read, bounded and answered in a worker (`views`), with the functions
that anybody else would call: `pbdp.plan`, `Budget`, `pbdp.tables`.

    view.py, views/                                  what each view may ask, and who answers
    form.py, words.py, explore.py                    one number: Explore
    budgets.py                                       what a ledger says, and prices
    query_form.py, tables.py, publishing.py          group-by tables
    code_to_copy.py, table_code_to_copy.py           what can be copied: Python, commands, query files
    openapi.py                                       the HTTP interface in its own words
"""

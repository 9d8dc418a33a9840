"""Certificates for people: one page with a claim, what it rests on, and how anyone can check it.

`statement` holds what a certificate says of a plan, a release, a table or a budget; `html_page` makes a
page of it; `checker` has the few lines of Python with which a reader checks it without pbdp;
`release_file` is the record of a release that a certificate can be made from.
"""

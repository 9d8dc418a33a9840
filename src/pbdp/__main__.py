"""`python -m pbdp` is `pbdp`."""

import sys

from pbdp.cli.main import main

sys.exit(main())

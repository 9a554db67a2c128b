"""`python -m acpagent` is the console script under another name."""

import sys

from acpagent.cli.main import main

sys.exit(main())

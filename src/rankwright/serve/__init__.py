"""A ranking service that learns online, loses nothing and can prove what it did.

``rankwright serve model.rw`` starts it. Four ideas:

- **The log is the truth.** Every feedback is an event of an append-only log, durable before it is
  answered; promotions and experiments are events of the same log. Whatever a learner knows follows
  from the model that was served first and the events before its place in the log.
- **A learner is a process of its own**, elected through the store. It reads the log in order and
  writes its state and its place in one transaction: every event is learned exactly once.
- **Servers rank by versions.** A version is a model, or a model after so many learned events; a
  request is ranked by one version from its first byte to its last.
- **Rankings are written behind the answer**, feedback before it.

This package needs the extra ``serve``; nothing else of the library needs this package.
"""

import typing

from rankwright.packages import shown_by

if typing.TYPE_CHECKING:
    from rankwright.serve.names import *  # noqa: F403
else:
    __getattr__, __dir__ = shown_by("rankwright.serve")

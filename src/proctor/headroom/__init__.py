"""Admission by headroom: what attempts need, what this node has left, and how much of the queue fits into it.

``needs`` are the values, ``reader`` reads the node's own files, ``admission`` decides; none of them knows a database.
"""

from proctor.headroom.admission import Node, held_back_words, room_of, too_large_words
from proctor.headroom.needs import UNNAMED, Admit, HeldBack, Need, Reserved, Room
from proctor.headroom.reader import NodeReader, Reading

__all__ = [
    "UNNAMED",
    "Admit",
    "HeldBack",
    "Need",
    "Node",
    "NodeReader",
    "Reading",
    "Reserved",
    "Room",
    "held_back_words",
    "room_of",
    "too_large_words",
]

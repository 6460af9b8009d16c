"""The bridge to Harbor: any of its agents, ``agent = "harbor:NAME"``, in our sandboxes and against our gateway.

It needs the ``harbor`` extra and with it Python 3.12. Only ``inside`` imports Harbor.
"""

"""litellm in a process of its own, for providers whose wire is none of ours. It speaks OpenAI's chat wire to us.

It takes seconds to import and reads whatever environment it finds: so it starts when it is first needed, with an
environment that has nothing of the caller's, and keys come with each request.
"""

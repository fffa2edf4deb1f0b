"""The search: given what one player sees, what should they do?

Not there yet. To come: the search loop and its tree (`search.pyx`, `tree.pyx`), the weights of sampled
worlds (`beliefs.pyx`), the statistics an answer is made of (`analysis.py`), and the ways to spread one
search over threads and machines (`backends/`). It builds on `engine_cy` and knows neither the server nor
protobuf.
"""

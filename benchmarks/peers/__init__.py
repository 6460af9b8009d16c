"""Scripts for the own environments of peers: each prints what null samples or judged examples take there, as JSON."""

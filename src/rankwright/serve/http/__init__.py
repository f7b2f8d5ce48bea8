"""The API over HTTP: what may be asked, by whom, and what is answered."""

"""``gpualign sort`` and ``gpualign markdup``: records of any aligner, in another order, with duplicates marked."""

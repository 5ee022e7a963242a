"""Pictures of results, drawn by matplotlib (the extra ``plot``), which is imported when a picture is asked for."""

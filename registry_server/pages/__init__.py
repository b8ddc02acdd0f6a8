"""The registry's pages: what people read before they let text steer their agents. No scripts, and nothing from elsewhere.

``frame``        what a page is, how it becomes bytes, with which headers; how to add one
``desk``         where pages are made and kept: bounded, beside everything else
``look``         one transaction's view, which knows what its reader may see
``addresses``    the paths of pages, written and read
``negotiation``  HTML or JSON
``hidden``       text of strangers as HTML, with hidden characters in plain sight
``limits``       what bounds a page
``kept``         values that are kept while there is room
``errors``       a failure as a page
``home``         the first page
"""

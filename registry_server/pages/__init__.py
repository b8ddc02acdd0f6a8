"""The registry's pages: what people read before they let text steer their agents. No scripts, nothing from other hosts.

``frame``        what a page is, how it becomes bytes and with which headers; how to add one
``desk``         where pages are made and cached, in a bounded pool of threads
``look``         one transaction's view of the registry, limited to what its reader may see
``addresses``    the paths of pages: writing and parsing
``negotiation``  HTML or JSON
``hidden``       untrusted text as HTML that shows hidden characters
``limits``       the limits of pages
``kept``         a bounded cache
``analysis``     what an item's page says of a release's own bytes, which never changes
``analyses``     the file that stores it
``analyst``      the thread that fills this file
``errors``       a failure as a page
``home``         the home page
"""

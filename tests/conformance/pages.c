// SPDX-License-Identifier: MIT
/* Host memory that devices reach: one page for each conf_page() of a test. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

#define IOVA_BASE 0x10000000ull

uint8_t *conf_page_memory(const struct conf *c, unsigned page)
{
	return c->pages + page * conf_page_stride();
}

uint64_t conf_page_iova(unsigned page)
{
	return IOVA_BASE + page * conf_page_stride();
}

int conf_pages_open(struct conf *c)
{
	c->pages = conf_pages_at(conf_page_iova(0), CONF_PAGES * conf_page_stride());
	if (!c->pages) {
		fprintf(stderr, "t3-conformance: no memory for event areas: %s\n", strerror(errno));
		return -1;
	}
	for (unsigned page = 0; page < CONF_PAGES; page++) {
		if (conf_page_map(c, page)) {
			fprintf(stderr, "t3-conformance: no mapping for event areas: %s\n",
				strerror(errno));
			return -1;
		}
	}
	return 0;
}

void *conf_page(struct conf *c, uint64_t *iova)
{
	unsigned page = c->pages_used++;

	CHECK(c, page < CONF_PAGES, "the test needs more than %u pages", CONF_PAGES);
	memset(conf_page_memory(c, page), 0xa5, T3_PAGE_SIZE);
	*iova = conf_page_iova(page);
	return conf_page_memory(c, page);
}

void conf_unmap(struct conf *c, uint64_t iova)
{
	unsigned page = (unsigned)((iova - IOVA_BASE) / conf_page_stride());

	CHECK(c, !conf_page_unmap(c, page), "a page cannot be unmapped: %s", strerror(errno));
	c->unmapped[page] = true;
}

void conf_pages_map(struct conf *c)
{
	for (unsigned page = 0; page < CONF_PAGES; page++) {
		if (c->unmapped[page])
			CHECK(c, !conf_page_map(c, page), "a page cannot be mapped again: %s",
			      strerror(errno));
		c->unmapped[page] = false;
	}
}

void conf_pages_restore(struct conf *c)
{
	conf_pages_map(c);
	c->pages_used = 0;
}

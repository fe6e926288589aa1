/* SPDX-License-Identifier: MIT */
/* Inside of the suite: the run, its devices and its results. */
#ifndef T3_CONFORMANCE_RUN_H
#define T3_CONFORMANCE_RUN_H

#include <setjmp.h>

#include "conf.h"

#define CONF_PAGES 256u
#define CONF_NAME  160u

enum conf_verdict { CONF_PASSED, CONF_FAILED, CONF_SKIPPED, CONF_VERDICTS };

struct conf_result {
	const struct conf_section *section;
	char name[CONF_NAME];
	enum conf_verdict verdict;
	char message[256];
};

struct conf {
	struct conf_device device[T3_MAX_RANKS];
	unsigned count;	 /* devices opened */
	unsigned linked; /* the first ones of them, each linked to the next */
	double timeout;	 /* s, of every wait */
	int container;
	uint8_t *pages; /* CONF_PAGES of host memory, each mapped separately */
	bool unmapped[CONF_PAGES];
	unsigned pages_used;
	bool injected; /* faults that outlive a reset */
	bool held;     /* the test holds the devices' work */
	jmp_buf leave; /* out of the running test */
	struct conf_result *result;
};

/*
 * What a way to the devices must have, beside the accesses of conf.h: VFIO (vfio.c, irq.c, pci.c), the
 * model in this process (native/), or a QEMU without a guest (qtest/). Those that return int return
 * 0, or -1 after a sentence on stderr; but conf_page_*() set errno instead.
 */
extern const char conf_way[]; /* for --help: what it is and needs, in whole lines */
unsigned conf_find(char (*bdfs)[16], unsigned limit);
int conf_bind(const char *bdf);
int conf_open(struct conf *c, char *const *bdfs, unsigned count);
void conf_close(struct conf *c);
void conf_irq_drain(struct conf_device *d);
/* Let time pass for the devices, a little. */
void conf_idle(void);
/* The unit of mappings, which on some machines is larger than T3's page. */
size_t conf_page_stride(void);
/* Memory of this process that devices can reach there, once it is mapped. NULL: there is none. */
uint8_t *conf_pages_at(uint64_t iova, size_t bytes);
int conf_page_map(struct conf *c, unsigned page);
int conf_page_unmap(struct conf *c, unsigned page);

/*
 * Capabilities of a way to the devices (enum conf_capability), NULL where it has not that one.
 * hold() holds all devices or lets them go. step() returns whether there is more to do. tracker()
 * makes the device anew, and with 0 entries as it was at first.
 */
struct conf_extra {
	void (*hold)(struct conf *c, bool on);
	bool (*step)(struct conf *c, unsigned events);
	void (*watch)(struct conf_device *d, uint64_t offset);
	unsigned (*watched)(struct conf_device *d, const struct conf_action **actions);
	bool (*tracker)(struct conf_device *d, uint32_t entries, uint32_t ways);
};

extern const struct conf_extra conf_extra;

/* extra.c: what of `needs` is not there, as text; NULL when all is. */
const char *conf_lacks(struct conf *c, unsigned devices, unsigned needs);
void conf_extra_restore(struct conf *c);

/* VFIO's files among themselves. */
int conf_region(struct conf_device *d, unsigned index, volatile uint8_t **base, uint64_t *bytes,
		uint64_t *offset);
int conf_irq_open(struct conf_device *d);
void conf_irq_close(struct conf_device *d);
int conf_group(const char *bdf);

/* device.c: reads what the device says of itself. */
int conf_identify(struct conf_device *d);

/* pages.c */
int conf_pages_open(struct conf *c);
void conf_pages_restore(struct conf *c);
uint8_t *conf_page_memory(const struct conf *c, unsigned page);
uint64_t conf_page_iova(unsigned page);

/* inject.c: clears the faults that tests have injected. */
void conf_inject_clear(struct conf *c);

/* fabric.c */
void conf_order(struct conf *c);

/* run.c: runs the matching tests, in order. Returns the number of results. */
extern struct conf_section *conf_sections;
unsigned conf_run(struct conf *c, const char *section, struct conf_result **results,
		  void (*each)(const struct conf_result *result, unsigned number));
unsigned conf_total(const char *section);
bool conf_section_matches(const struct conf_section *section, const char *wanted);
void conf_test_name(char *name, size_t bytes, const struct conf_section *section,
		    const struct conf_test *test, unsigned row);

/* report.c */
void conf_tap_result(const struct conf_result *result, unsigned number);
void conf_tap_summary(const struct conf_result *results, unsigned count);
void conf_json(const struct conf *c, const struct conf_result *results, unsigned count);

#endif

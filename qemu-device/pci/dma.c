/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory for the core. SPEC.md sections 1.3 and 2.3. The core often writes words of event
 * areas and completions, on few pages, and a guest waits for them. So these pages stay translated
 * until the machine's memory map changes. Changes of bus mastering, BARs and IOMMU change the map.
 * Addresses behind an IOMMU are translated for each access.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "system/dma.h"
#include "system/system.h"
#include "fabric/access.h"
#include "pci/caps.h"
#include "pci/dma.h"
#include "pci/pci.h"
#include "trace.h"

#define PAGE_BYTES 4096u

static const MemTxAttrs attrs = { .memory = true };

/* ------------------------------------------------------------------- pages */

static void drop_pages(T3State *s)
{
	unsigned int i;

	for (i = 0; i < T3_DMA_PAGES; i++)
		address_space_cache_destroy(&s->dma_page[i].cache);
}

/* The fabric's thread may be in the middle of a DMA. */
static void map_changed(MemoryListener *listener)
{
	T3State *s = container_of(listener, T3State, dma_listener);
	T3Fabric *fabric = s->port.fabric;

	if (fabric)
		t3_fabric_enter(fabric);
	drop_pages(s);
	if (fabric)
		t3_fabric_leave(fabric);
}

/* An IOMMU reports faults by interrupts, for which QEMU needs the big lock. */
bool t3_dma_check(T3State *s, Error **errp)
{
	if (!s->link || !t3_fabric_has_thread(s->link) ||
	    pci_device_iommu_address_space(PCI_DEVICE(s)) == &address_space_memory)
		return true;
	error_setg(errp, "rank=%" PRIu32 " is behind an IOMMU: its fabric must have no iothread=",
		   s->port.rank);
	return false;
}

/* The command line may have the IOMMU after the device. */
static void machine_done(Notifier *notifier, void *data)
{
	t3_dma_check(container_of(notifier, T3State, machine_done), &error_fatal);
}

void t3_dma_init(T3State *s)
{
	unsigned int i;

	for (i = 0; i < T3_DMA_PAGES; i++)
		address_space_cache_init_empty(&s->dma_page[i].cache);
	s->dma_listener = (MemoryListener){ .name = "t3", .commit = map_changed };
	memory_listener_register(&s->dma_listener, pci_get_address_space(PCI_DEVICE(s)));
	s->machine_done.notify = machine_done;
	qemu_add_machine_init_done_notifier(&s->machine_done);
}

void t3_dma_exit(T3State *s)
{
	qemu_remove_machine_init_done_notifier(&s->machine_done);
	memory_listener_unregister(&s->dma_listener);
	drop_pages(s);
}

/* The translated page of addr. If it is not plain memory, its cache has no ptr. */
static MemoryRegionCache *page_at(T3State *s, dma_addr_t addr)
{
	dma_addr_t base = addr & ~(dma_addr_t)(PAGE_BYTES - 1);
	T3DmaPage *page = &s->dma_page[base / PAGE_BYTES % T3_DMA_PAGES];

	if (page->cache.mrs.mr && page->base == base)
		return &page->cache;
	address_space_cache_destroy(&page->cache);
	page->base = base;
	address_space_cache_init(&page->cache, pci_get_address_space(PCI_DEVICE(s)), base,
				 PAGE_BYTES, true);
	return &page->cache;
}

/* ------------------------------------------------------------------- words */

/*
 * Accepts only plain memory. The guest chooses the target of a DMA, which must not be another
 * device.
 */
static MemTxResult translate_and_store(AddressSpace *as, dma_addr_t addr, const void *buf,
				       size_t len)
{
	MemTxResult result;
	hwaddr offset, avail = len;
	MemoryRegion *mr;

	RCU_READ_LOCK_GUARD();
	mr = address_space_translate(as, addr, &offset, &avail, true, attrs);
	if (avail < len || !memory_access_is_direct(mr, true, attrs))
		return MEMTX_ACCESS_ERROR;
	if (len == 8)
		address_space_stq_le(as, addr, ldq_le_p(buf), attrs, &result);
	else
		address_space_stl_le(as, addr, ldl_le_p(buf), attrs, &result);
	return result;
}

/*
 * Writes a word in one store, after all earlier accesses. So a guest that polls it never sees half
 * of it.
 */
static MemTxResult store_word(T3State *s, dma_addr_t addr, const void *buf, size_t len)
{
	MemoryRegionCache *page = page_at(s, addr);
	hwaddr offset = addr % PAGE_BYTES;
	MemTxResult result = MEMTX_OK;

	smp_mb_release();
	if (!page->ptr || page->len < offset + len)
		return translate_and_store(pci_get_address_space(PCI_DEVICE(s)), addr, buf, len);
	if (len == 8)
		address_space_stq_le_cached(page, offset, ldq_le_p(buf), attrs, &result);
	else
		address_space_stl_le_cached(page, offset, ldl_le_p(buf), attrs, &result);
	address_space_cache_invalidate(page, offset, len);
	return result;
}

/* ---------------------------------------------------------------- the core */

static bool done(const T3State *s, MemTxResult result, uint64_t addr, size_t len)
{
	if (result == MEMTX_OK)
		return true;
	trace_t3_dma_error(s->port.rank, addr, len);
	return false;
}

bool t3_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	T3State *s = opaque;
	MemTxResult result = MEMTX_ACCESS_ERROR;

	if (t3_pci_may_master(s))
		result = pci_dma_rw(PCI_DEVICE(s), addr, buf, len, DMA_DIRECTION_TO_DEVICE, attrs);
	return done(s, result, addr, len);
}

bool t3_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	T3State *s = opaque;
	MemTxResult result = MEMTX_ACCESS_ERROR;

	if (!t3_pci_may_master(s))
		return done(s, result, addr, len);
	if ((len == 4 || len == 8) && addr % len == 0)
		result = store_word(s, addr, buf, len);
	else
		result = pci_dma_rw(PCI_DEVICE(s), addr, (void *)buf, len,
				    DMA_DIRECTION_FROM_DEVICE, attrs);
	return done(s, result, addr, len);
}

// SPDX-License-Identifier: MIT
/*
 * The allocator of MPI_Alloc_mem: a component of Open MPI's framework mpool. Open MPI
 * loads a component by the name of its file. This one is in the file of coll/t3, whose device and
 * parameters it needs, so coll/t3 adds it to the list of those that Open MPI has loaded.
 */
#include <string.h>

#include "coll_t3.h"

#include "opal/mca/mpool/base/base.h"
#include "opal/mca/mpool/mpool.h"

/* Ordinary memory has 50, huge pages 70 where the program wants them. */
#define PRIORITY       60
#define PRIORITY_NAMED 100

static void *pool_alloc(mca_mpool_base_module_t *module, size_t bytes, size_t align, uint32_t flags)
{
	(void)module;
	(void)flags;
	return coll_t3_alloc(bytes, align);
}

static void pool_free(mca_mpool_base_module_t *module, void *at)
{
	(void)module;
	coll_t3_free(at);
}

static int query(const char *hints, int *priority, mca_mpool_base_module_t **module);

/* A later one has the same query and the same functions. */
#ifdef MCA_MPOOL_BASE_VERSION_3_1_0
#define INTERFACE MCA_MPOOL_BASE_VERSION_3_1_0
#else
#define INTERFACE MCA_MPOOL_BASE_VERSION_3_0_0
#endif

static mca_mpool_base_component_t component = {
	.mpool_version = {
		INTERFACE,
		.mca_component_name = "t3",
		MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
				      OMPI_RELEASE_VERSION),
	},
	.mpool_data = { MCA_BASE_METADATA_PARAM_NONE },
	.mpool_query = query,
};

static mca_mpool_base_module_t pool = {
	.mpool_component = &component,
	.mpool_alloc = pool_alloc,
	.mpool_free = pool_free,
	.flags = MCA_MPOOL_FLAGS_MPI_ALLOC_MEM,
};

/*
 * Other components ask for memory for networks, which must be ordinary. They do so before
 * MPI_Init() is over, and MPI_Alloc_mem can be called only after it.
 */
static int query(const char *hints, int *priority, mca_mpool_base_module_t **module)
{
	const char *name = hints ? strstr(hints, "mpool=") : NULL;
	bool named = name && !strncmp(name, "mpool=t3", 8);
	int is_up = 0;

	PMPI_Initialized(&is_up);
	if (!is_up || coll_t3_params.priority < 0 || (name && !named))
		return OPAL_ERR_NOT_AVAILABLE;
	*priority = named ? PRIORITY_NAMED : PRIORITY;
	*module = &pool;
	return OPAL_SUCCESS;
}

static mca_base_component_list_item_t *item;

void coll_t3_open_pool(void)
{
	if (!mca_base_framework_is_open(&opal_mpool_base_framework))
		return;
	item = OBJ_NEW(mca_base_component_list_item_t);
	if (!item)
		return;
	item->cli_component = &component.mpool_version;
	opal_list_append(&opal_mpool_base_framework.framework_components, &item->super);
}

void coll_t3_close_pool(void)
{
	if (item) {
		opal_list_remove_item(&opal_mpool_base_framework.framework_components,
				      &item->super);
		OBJ_RELEASE(item);
		item = NULL;
	}
	coll_t3_free_all();
}

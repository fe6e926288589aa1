// SPDX-License-Identifier: MIT
/* The component that Open MPI loads: its entry, the check of versions, open and close. */
#include <string.h>

#include "coll_t3.h"

/* Open MPI looks it up by this name. */
T3_API extern mca_coll_base_component_t mca_coll_t3_component;

/* ---------------------------------------------------------------------- versions */

#define TEXT(x)	 TEXT_(x)
#define TEXT_(x) #x
/* Of the headers that this was built with. Searchable in the file, as a test changes it. */
static const volatile char built_for[] =
	"coll_t3 for Open MPI v" TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) ".";

/*
 * The layout of a module is another one in another version of Open MPI. Open MPI compares the
 * version of the interface, which does not change each time.
 */
static bool same_version(void)
{
	char running[MPI_MAX_LIBRARY_VERSION_STRING] = "another version", wanted[sizeof(built_for)];
	const char *version;
	int length;
	size_t i;

	for (i = 0; i < sizeof(wanted); i++)
		wanted[i] = built_for[i];
	version = strstr(wanted, "Open MPI v");
	if (version && !PMPI_Get_library_version(running, &length) &&
	    !strncmp(running, version, strlen(version)))
		return true;
	running[strcspn(running, ",")] = '\0';
	coll_t3_complain("built for %.*s, but this is %s. It is not used: build it again",
			 version ? (int)strlen(version) - 1 : 0, version ? version : "", running);
	return false;
}

/* ---------------------------------------------------------------------- open, close */

static int coll_t3_register(void)
{
	coll_t3_register_params(&mca_coll_t3_component.collm_version);
	coll_t3_register_counters(&mca_coll_t3_component.collm_version);
	return OMPI_SUCCESS;
}

static int coll_t3_open(void)
{
	if (!same_version() || !coll_t3_check_params())
		return OPAL_ERR_NOT_AVAILABLE;
	coll_t3_open_messages();
	coll_t3_open_pool();
	return OMPI_SUCCESS;
}

static int coll_t3_close(void)
{
	coll_t3_say_counts();
	coll_t3_close_messages();
	coll_t3_close_later();
	coll_t3_close_pool();
	coll_t3_close_queue();
	coll_t3_close_device();
	return OMPI_SUCCESS;
}

static int coll_t3_init_query(bool progress_threads, bool threads)
{
	(void)progress_threads;
	(void)threads;
	return OMPI_SUCCESS;
}

/* Open MPI 5's, with the same beginning. */
#ifdef MCA_COLL_BASE_VERSION_2_4_0
#define INTERFACE MCA_COLL_BASE_VERSION_2_4_0
#else
#define INTERFACE MCA_COLL_BASE_VERSION_2_0_0
#endif

mca_coll_base_component_t mca_coll_t3_component = {
	.collm_version = {
		INTERFACE,
		.mca_component_name = "t3",
		MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
				      OMPI_RELEASE_VERSION),
		.mca_open_component = coll_t3_open,
		.mca_close_component = coll_t3_close,
		.mca_register_component_params = coll_t3_register,
	},
	.collm_data = { MCA_BASE_METADATA_PARAM_NONE },
	.collm_init_query = coll_t3_init_query,
	.collm_comm_query = coll_t3_comm_query,
};

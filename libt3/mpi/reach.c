// SPDX-License-Identifier: MIT
/*
 * Whether Open MPI can send what lies in device memory. The kernel lets one process read the memory of
 * another one (CMA), and networks read it, only where it is ordinary. What copies it by loads and
 * stores, or by a system call of the process itself, can have any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_t3.h"

#include "ompi/mca/pml/base/base.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"

static bool is(const char *name, const char *a, const char *b)
{
	return !strcmp(name, a) || !strcmp(name, b);
}

/* vader can get and put by messages. This is the one way that does not need the kernel. */
static bool emulates(const char *name)
{
	int index = mca_base_var_find("opal", "btl", name, "single_copy_mechanism");
	const mca_base_var_t *var;
	const int *value = NULL;
	char *text = NULL;
	bool is_so;

	if (index < 0 || mca_base_var_get(index, &var) || !var->mbv_enumerator ||
	    mca_base_var_get_value(index, &value, NULL, NULL) || !value)
		return false;
	var->mbv_enumerator->string_from_value(var->mbv_enumerator, *value, &text);
	is_so = text && !strcmp(text, "emulated");
	free(text);
	return is_so;
}

/* sm is the later name of vader. */
static bool copies(const mca_btl_base_module_t *btl, const char *name)
{
	if (is(name, "self", "tcp"))
		return true;
	return is(name, "vader", "sm") && ((!btl->btl_get && !btl->btl_put) || emulates(name));
}

bool coll_t3_can_send(char *why, size_t size)
{
	const char *name = mca_pml_base_selected_component.pmlm_version.mca_component_name;
	const mca_btl_base_selected_module_t *s;

	if (strcmp(name, "ob1")) {
		snprintf(why, size, "pml/%s may need ordinary memory", name);
		return false;
	}
	OPAL_LIST_FOREACH(s, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
	{
		name = s->btl_component->btl_version.mca_component_name;
		if (copies(s->btl_module, name))
			continue;
		snprintf(why, size, "btl/%s reads that alone (see libt3/mpi/MEMORY.md)", name);
		return false;
	}
	return true;
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Look at a kernel's headers for the interfaces that differ between kernels. Kbuild calls this.
# Usage: probe.sh SOURCES: the tree with include/. Prints the compiler's flags for t3_compat.h, or
# "changed: " and a sentence when an interface has none of the forms that the driver knows.
# Stable releases and distributions take changes over, so a version number would not tell.
set -u

include=$1/include
flags=
changed=

has() {
	grep -qsE -- "$2" "$include/$1"
}

# differs FLAG HEADER WHAT NEW OLD: the flag, if the header has NEW. Else it must have OLD.
differs() {
	if has "$2" "$4"; then
		flags="$flags -DT3_HAVE_$1"
	elif ! has "$2" "$5"; then
		changed="$changed, $3 (<$2>)"
	fi
}

# needs HEADER NAME...: what the driver uses in the same form on all kernels.
needs() {
	header=$1
	shift
	for name; do
		has "$header" "\\<$name\\>" || changed="$changed, $name (<$header>)"
	done
}

differs SCHED_INIT_ARGS drm/gpu_scheduler.h 'drm_sched_init()' \
	'^struct drm_sched_init_args \{' '\<u32 num_rqs, u32 credit_limit\>'
differs SCHED_CLIENT_ID drm/gpu_scheduler.h 'drm_sched_job_init()' \
	'\<u64 drm_client_id\);' '\<u32 credits, void \*owner\);'
differs SCHED_STAT_RESET drm/gpu_scheduler.h 'enum drm_gpu_sched_stat' \
	'\<DRM_GPU_SCHED_STAT_RESET\>' '\<DRM_GPU_SCHED_STAT_NOMINAL\>'
differs DRIVER_DATE drm/drm_drv.h 'struct drm_driver' '\<char \*date;' '\<char \*desc;'
differs GEM_OBJECT_ACTIVE drm/drm_gem.h 'enum drm_gem_object_status' \
	'\<DRM_GEM_OBJECT_ACTIVE\>' '\<DRM_GEM_OBJECT_RESIDENT\>'
differs IMPORT_NS_STRING linux/module.h 'MODULE_IMPORT_NS()' \
	'MODULE_INFO\(import_ns, ns\)' 'MODULE_INFO\(import_ns, __stringify\(ns\)\)'
differs DMA_BUF_INVALIDATE linux/dma-buf.h 'dma_buf_invalidate_mappings()' \
	'\<dma_buf_invalidate_mappings\>' '\<dma_buf_move_notify\>'
differs SYSTEM_DFL_WQ linux/workqueue.h 'system_dfl_wq' '\<system_dfl_wq;' '\<system_unbound_wq;'
differs ALLOC_OBJ linux/slab.h 'kzalloc_obj()' '^#define kzalloc_obj\(' '^#define kzalloc\('

needs drm/gpu_scheduler.h timedout_job pending_list job_list_lock drm_sched_wqueue_start \
	drm_sched_job_add_implicit_dependencies
needs drm/drm_exec.h drm_exec_until_all_locked drm_exec_prepare_obj
needs drm/drm_file.h drm_print_memory_stats drm_show_fdinfo
needs drm/drm_accel.h accel_open
needs drm/drm_syncobj.h drm_syncobj_add_point drm_syncobj_find_fence
needs linux/dma-buf.h dma_buf_dynamic_attach allow_peer2peer
needs linux/devcoredump.h dev_coredumpv

if [ -n "$changed" ]; then
	echo "changed: ${changed#, }"
else
	echo "$flags"
fi

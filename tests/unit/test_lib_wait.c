// SPDX-License-Identifier: MIT
/* libt3: doorbells, and waits by the event area and by the kernel. */
#include "test_lib_kernel.h"
#include "test.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MOST_INSTRUCTIONS 4000

/* ----------------------------------------------------------------- doorbells */

T3_TEST("doorbells are stores alone")
{
	volatile unsigned char *page = kernel.memory + AT_DOORBELL;

	assert_int_equal(t3_arm(space, 7), 0);
	assert_int_equal(*(volatile uint32_t *)(page + DRM_T3_DOORBELL_ARM), 7);
	assert_int_equal(t3_release(space, 6), 0);
	assert_int_equal(*(volatile uint32_t *)(page + DRM_T3_DOORBELL_RELEASE), 6);
	assert_int_equal(t3_doorbell_tile(space, 63, 3, 0xfffffff0u), 0);
	assert_true(*(volatile uint64_t *)(page + DRM_T3_DOORBELL_TILE) == 0x33ffffffff0ull);
	assert_int_equal(kernel.calls, 0);
	assert_int_equal(t3_arm(space, 0), -EINVAL);
	assert_int_equal(t3_arm(NULL, 1), -EINVAL);
	assert_int_equal(t3_release(space, 0), -EINVAL);
	assert_int_equal(t3_doorbell_tile(space, 64, 0, 0), -EINVAL);
	assert_int_equal(t3_doorbell_tile(space, 0, 4, 0), -EINVAL);
	assert_int_equal(t3_doorbell_tile(NULL, 0, 0, 0), -EINVAL);
}

T3_TEST("a dead space has no doorbell")
{
	set_state(DRM_T3_SPACE_FAULTED, 3);
	assert_int_equal(t3_arm(space, 4), -EIO);
	set_state(DRM_T3_SPACE_DEAD, 3);
	assert_int_equal(t3_arm(space, 4), -ENODEV);
	assert_int_equal(t3_release(space, 3), -ENODEV);
	/* Destroyed, by another handle or by an ioctl: the device is still there. */
	kernel.destroyed = true;
	assert_int_equal(t3_arm(space, 4), -ENOENT);
	assert_int_equal(t3_release(space, 3), -ENOENT);
	assert_int_equal(t3_wait_armed(space, 3, INT64_MAX), -ENOENT);
	assert_int_equal(*(uint32_t *)(kernel.memory + AT_DOORBELL), 0);
}

T3_TEST("the consumed count of a slot is read")
{
	events()->consumed[5][2] = 17;
	assert_int_equal(t3_slot_consumed(space, 5, 2), 17);
	assert_int_equal(t3_slot_consumed(space, 5, 1), 0);
	assert_int_equal(t3_slot_consumed(space, 64, 0), 0);
	assert_int_equal(t3_slot_consumed(space, 0, 4), 0);
	assert_int_equal(t3_slot_consumed(NULL, 0, 0), 0);
}

/* --------------------------------------------------------------------- waits */

static int64_t soon(void)
{
	return t3_deadline(2000000);
}

T3_TEST("poll state reads only the event area")
{
	set_state(DRM_T3_SPACE_ARMING, 3);
	assert_int_equal(t3_wait_armed(space, 3, 0), -ETIMEDOUT);
	set_state(DRM_T3_SPACE_ARMED, 3);
	assert_int_equal(t3_wait_armed(space, 3, 0), 0);
	assert_int_equal(t3_wait_armed(space, 4, 0), -ETIMEDOUT);
	assert_int_equal(t3_wait_armed(space, 2, -5), 0);
	set_state(DRM_T3_SPACE_COMPLETE, 3);
	assert_int_equal(t3_wait_armed(space, 3, 0), 0);
	set_state(DRM_T3_SPACE_IDLE, 3);
	assert_int_equal(t3_wait_armed(space, 3, 0), 0);
	assert_int_equal(t3_wait_armed(space, 4, 0), -ETIMEDOUT);
	set_state(DRM_T3_SPACE_IDLE, 0);
	assert_int_equal(t3_wait_armed(space, 0xffffffffu, 0), -ETIMEDOUT);
	assert_int_equal(kernel.calls, 0);
}

T3_TEST("epochs may wrap around")
{
	set_state(DRM_T3_SPACE_ARMED, 2);
	assert_int_equal(t3_wait_armed(space, 0xfffffffeu, 0), 0);
	set_state(DRM_T3_SPACE_ARMED, 0xfffffffeu);
	assert_int_equal(t3_wait_armed(space, 2, 0), -ETIMEDOUT);
}

T3_TEST("progress is read of each segment")
{
	struct t3_segment_desc next = desc;

	next.segment = 6;
	assert_int_equal(t3_local_map(space, &desc), 0);
	assert_int_equal(t3_local_map(space, &next), 0);
	kernel.calls = 0;
	set_state(DRM_T3_SPACE_ARMED, 3);
	assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_TRACKED, 0), -ETIMEDOUT);
	events()->segment[5] = 2 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_TRACKED, 0), -ETIMEDOUT);
	assert_int_equal(t3_wait(space, 2, 1ull << 5, T3_DELIVERED, 0), 0);
	events()->segment[5] = 3 | DRM_T3_WORD_TRACKED;
	assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_TRACKED, 0), 0);
	assert_int_equal(t3_wait(space, 3, 0, T3_TRACKED, 0), -ETIMEDOUT);
	assert_int_equal(t3_wait(space, 3, 3ull << 5, T3_TRACKED, 0), -ETIMEDOUT);
	events()->segment[6] = 3 | DRM_T3_WORD_TRACKED;
	assert_int_equal(t3_wait(space, 3, 0, T3_TRACKED, 0), 0);
	assert_int_equal(t3_wait(space, 3, 3ull << 5, T3_TRACKED, 0), 0);
	assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_DELIVERED, 0), -ETIMEDOUT);
	events()->segment[5] |= DRM_T3_WORD_DELIVERED;
	assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_DELIVERED, 0), 0);
	assert_int_equal(t3_wait(space, 3, 0, T3_DELIVERED, 0), -ETIMEDOUT);
	set_state(DRM_T3_SPACE_COMPLETE, 3);
	assert_int_equal(t3_wait(space, 3, 0, T3_DELIVERED, 0), 0);
	set_state(DRM_T3_SPACE_IDLE, 3);
	assert_int_equal(t3_wait(space, 3, 0, T3_DELIVERED, 0), 0);
	assert_int_equal(kernel.calls, 0);
}

T3_TEST("a mask names mapped segments")
{
	struct t3_segment_desc remote = desc;

	assert_int_equal(t3_wait(space, 1, 1ull << 5, T3_TRACKED, 0), -EINVAL);
	remote.segment = 6;
	assert_int_equal(t3_local_map(space, &desc), 0);
	assert_int_equal(t3_remote_map(space, &remote, &target), 0);
	assert_int_equal(t3_wait(space, 1, 3ull << 5, T3_TRACKED, 0), -ETIMEDOUT);
	assert_int_equal(t3_space_reset(space), 0);
	assert_int_equal(t3_wait(space, 1, 1ull << 5, T3_TRACKED, 0), -ETIMEDOUT);
	assert_int_equal(t3_wait(space, 1, 1ull << 6, T3_TRACKED, 0), -EINVAL);
	assert_int_equal(t3_unmap(space, 5), 0);
	assert_int_equal(t3_wait(space, 1, 1ull << 5, T3_TRACKED, 0), -EINVAL);
	assert_int_equal(t3_space_reset(space), 0);
	assert_int_equal(t3_wait(space, 1, 1ull << 5, T3_TRACKED, 0), -EINVAL);
}

T3_TEST("each segment has its bit")
{
	struct t3_segment_desc other = desc;

	for (other.segment = 0; other.segment < 64; other.segment++) {
		uint64_t bit = 1ull << other.segment;

		assert_int_equal(t3_wait(space, 1, bit, T3_TRACKED, 0), -EINVAL);
		assert_int_equal(t3_local_map(space, &other), 0);
		assert_int_equal(t3_wait(space, 1, bit, T3_TRACKED, 0), -ETIMEDOUT);
		assert_int_equal(t3_wait(space, 1, (bit << 1) - 1, T3_TRACKED, 0), -ETIMEDOUT);
	}
}

T3_TEST("a wait refuses invalid arguments")
{
	assert_int_equal(t3_wait(space, 0, 0, T3_TRACKED, 0), -EINVAL);
	assert_int_equal(t3_wait(space, 1, 0, (enum t3_progress)3, 0), -EINVAL);
	assert_int_equal(t3_wait(space, 1, 0, (enum t3_progress)0, 0), -EINVAL);
	assert_int_equal(t3_wait(NULL, 1, 0, T3_TRACKED, 0), -EINVAL);
	assert_int_equal(t3_wait_armed(space, 0, 0), -EINVAL);
	assert_int_equal(t3_wait_armed(NULL, 1, 0), -EINVAL);
}

/* A fault ends all waits of its epoch, also for segments that had made the progress before. */
T3_TEST("faults and death end waits")
{
	static const uint64_t spins[] = { 0, 1000000, UINT64_MAX };
	size_t i;

	assert_int_equal(t3_local_map(space, &desc), 0);
	set_state(DRM_T3_SPACE_FAULTED, 3);
	assert_int_equal(t3_wait_armed(space, 3, INT64_MAX), -EIO);
	assert_int_equal(t3_wait(space, 3, 0, T3_DELIVERED, INT64_MAX), -EIO);
	assert_int_equal(t3_wait(space, 2, 0, T3_DELIVERED, INT64_MAX), 0);
	events()->segment[5] = 3 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	for (i = 0; i < sizeof(spins) / sizeof(spins[0]); i++) {
		t3_space_set_spin(space, spins[i]);
		assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_TRACKED, INT64_MAX), -EIO);
		assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_DELIVERED, 0), -EIO);
		assert_int_equal(t3_wait(space, 3, 0, T3_TRACKED, INT64_MAX), -EIO);
		assert_int_equal(t3_wait(space, 2, 1ull << 5, T3_DELIVERED, 0), 0);
	}
	set_state(DRM_T3_SPACE_DEAD, 3);
	assert_int_equal(t3_wait_armed(space, 3, INT64_MAX), -ENODEV);
	set_state(DRM_T3_SPACE_DISABLED, 3);
	assert_int_equal(t3_wait_armed(space, 3, INT64_MAX), -ENODEV);
}

static void arm_in_kernel(void)
{
	set_state(DRM_T3_SPACE_ARMED, 3);
}

T3_TEST("a sleeping wait uses the kernel")
{
	const struct drm_t3_space_wait *asked = ASKED(drm_t3_space_wait);
	int64_t deadline = t3_deadline(5000000000ull);

	t3_space_set_spin(space, 0);
	kernel.on_wait = arm_in_kernel;
	kernel.calls = 0;
	assert_int_equal(t3_wait_armed(space, 3, deadline), 0);
	assert_int_equal(kernel.calls, 1);
	assert_int_equal(asked->space, 21);
	assert_int_equal(asked->what, DRM_T3_WAIT_ARMED);
	assert_int_equal(asked->epoch, 3);
	assert_int_equal(asked->flags, 0);
	assert_int_equal(asked->deadline_ns, deadline);
	kernel.on_wait = NULL;
	kernel.error = ETIMEDOUT;
	assert_int_equal(t3_wait_armed(space, 4, deadline), -ETIMEDOUT);
	kernel.error = EIO;
	assert_int_equal(t3_wait_armed(space, 4, deadline), -EIO);
	assert_int_equal(t3_local_map(space, &desc), 0);
	kernel.error = ETIMEDOUT;
	assert_int_equal(t3_wait(space, 4, 1ull << 5, T3_DELIVERED, deadline), -ETIMEDOUT);
	assert_int_equal(asked->segment_mask, 1ull << 5);
	assert_int_equal(asked->what, DRM_T3_WAIT_DELIVERED);
}

/* The kernel saw the words just before the device saw a store that was one too many. */
static void fault_in_kernel(void)
{
	events()->segment[5] = 3 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	set_state(DRM_T3_SPACE_FAULTED, 3);
}

T3_TEST("a fault right after the words is seen")
{
	assert_int_equal(t3_local_map(space, &desc), 0);
	set_state(DRM_T3_SPACE_ARMED, 3);
	t3_space_set_spin(space, 0);
	kernel.on_wait = fault_in_kernel;
	assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_TRACKED, INT64_MAX), -EIO);
}

T3_TEST("spinning comes before sleep")
{
	int64_t before = t3_deadline(0);

	t3_space_set_spin(space, 1000000);
	kernel.error = ETIMEDOUT;
	kernel.calls = 0;
	assert_int_equal(t3_wait_armed(space, 3, INT64_MAX), -ETIMEDOUT);
	assert_int_equal(kernel.calls, 1);
	assert_true(t3_deadline(0) - before >= 1000000);
}

T3_TEST("a spinning wait makes no system call")
{
	t3_space_set_spin(space, UINT64_MAX);
	kernel.calls = 0;
	assert_int_equal(t3_wait_armed(space, 3, soon()), -ETIMEDOUT);
	set_state(DRM_T3_SPACE_ARMED, 3);
	assert_int_equal(t3_wait_armed(space, 3, INT64_MAX), 0);
	assert_int_equal(kernel.calls, 0);
}

/* For a thread that spins, all words change at once: its own, and then the space's end. */
static void end_behind_the_word(void)
{
	events()->segment[5] = 3 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	set_state(DRM_T3_SPACE_DEAD, 3);
}

/*
 * The first wait is none that is counted: the loader looks for symbols in it, and a sanitizer may go
 * through all frames that it knows, in tens of thousands of instructions.
 */
static _Noreturn void wait_under_ptrace(void)
{
	if (t3_wait(space, 3, 1ull << 5, T3_DELIVERED, 0) != -ETIMEDOUT)
		_exit(78);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
		_exit(77);
	_exit(-t3_wait(space, 3, 1ull << 5, T3_DELIVERED, INT64_MAX));
}

/* The result of a wait whose space ends after that number of instructions. */
static int answer_after(int instructions)
{
	int status;
	pid_t pid;

	events()->segment[5] = 0;
	set_state(DRM_T3_SPACE_ARMED, 3);
	pid = fork();
	if (!pid)
		wait_under_ptrace();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (; instructions && WIFSTOPPED(status); instructions--) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	if (WIFSTOPPED(status)) {
		end_behind_the_word();
		assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/*
 * A wait that has polled once finds its words, wherever it was when they came. The test stops it
 * after each number of instructions, through its first rounds.
 */
T3_TEST("progress before the end counts")
{
	int instructions, answer = ENODEV, reached_from = 0, most = MOST_INSTRUCTIONS;

	assert_int_equal(t3_local_map(space, &desc), 0);
	t3_space_set_spin(space, UINT64_MAX);
	for (instructions = 1; instructions < most; instructions++) {
		answer = answer_after(instructions);
		if (answer == 77)
			skip();
		if (!answer && !reached_from) {
			reached_from = instructions;
			most = 2 * instructions + 100;
		}
		if (answer && reached_from)
			fail_msg("reached after %d instructions, answer %d after %d", reached_from,
				 answer, instructions);
	}
	assert_true(reached_from);
	assert_int_equal(t3_wait(space, 3, 1ull << 5, T3_DELIVERED, INT64_MAX), -ENODEV);
}

/* In seccomp's strict mode any call other than read, write and exit ends the process. */
static _Noreturn void iterate_without_calls(void)
{
	int ret = 0;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		syscall(SYS_exit, 77);
	ret |= t3_arm(space, 3);
	ret |= t3_wait_armed(space, 3, INT64_MAX);
	ret |= t3_doorbell_tile(space, 5, 0, 1);
	ret |= t3_wait(space, 3, 0, T3_DELIVERED, INT64_MAX);
	ret |= t3_release(space, 3);
	syscall(SYS_exit, ret ? 1 : 0);
	__builtin_unreachable();
}

T3_TEST("an iteration needs no system call")
{
	const struct timespec while_it_spins = { .tv_nsec = 3000000 };
	int status;
	pid_t pid;

	t3_space_set_spin(space, UINT64_MAX);
	pid = fork();
	if (!pid)
		iterate_without_calls();
	nanosleep(&while_it_spins, NULL);
	set_state(DRM_T3_SPACE_ARMED, 3);
	nanosleep(&while_it_spins, NULL);
	set_state(DRM_T3_SPACE_COMPLETE, 3);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(*(uint32_t *)(kernel.memory + AT_DOORBELL + DRM_T3_DOORBELL_RELEASE), 3);
}

T3_TEST("deadlines saturate at the largest time")
{
	assert_true(t3_deadline(UINT64_MAX) == INT64_MAX);
	assert_true(t3_deadline(INT64_MAX) == INT64_MAX);
	assert_true(t3_deadline(1000) > 0);
}

T3_TEST("faults come from page or kernel")
{
	struct drm_t3_fault fault = { 0 };

	kernel.error = ETIMEDOUT;
	assert_int_equal(t3_space_fault(space, &fault), -ENODATA);
	kernel.error = EIO;
	kernel.fault.kind = DRM_T3_FAULT_HOST_DMA;
	assert_int_equal(t3_space_fault(space, &fault), 0);
	assert_int_equal(fault.kind, DRM_T3_FAULT_HOST_DMA);
	kernel.error = ENODEV;
	assert_int_equal(t3_space_fault(space, &fault), -ENODEV);
	kernel.calls = 0;
	events()->fault.kind = DRM_T3_FAULT_WIDTH;
	events()->fault.offset = 0x123;
	events()->faults = 1;
	assert_int_equal(t3_space_fault(space, &fault), 0);
	assert_int_equal(fault.kind, DRM_T3_FAULT_WIDTH);
	assert_int_equal(fault.offset, 0x123);
	assert_int_equal(kernel.calls, 0);
	assert_int_equal(t3_space_fault(NULL, &fault), -EINVAL);
	assert_int_equal(t3_space_fault(space, NULL), -EINVAL);
}

static void number_fault(uint32_t k)
{
	events()->ring[(k - 1) % DRM_T3_FAULT_RING].kind = DRM_T3_FAULT_READ_REMOTE;
	events()->ring[(k - 1) % DRM_T3_FAULT_RING].offset = k;
	events()->faults = k;
}

/* Of 40 faults the last 15 are there, or fewer if asked for fewer. Of 3 faults all are there. */
T3_TEST("faults are a ring")
{
	struct drm_t3_fault fault[20];
	uint32_t total = 99, k;
	int i;

	assert_int_equal(t3_space_faults(space, fault, 20, &total), 0);
	assert_int_equal(total, 0);
	for (k = 1; k <= 3; k++)
		number_fault(k);
	assert_int_equal(t3_space_faults(space, fault, 20, NULL), 3);
	assert_int_equal(fault[0].offset, 1);
	assert_int_equal(fault[2].offset, 3);
	for (; k <= 40; k++)
		number_fault(k);
	assert_int_equal(t3_space_faults(space, fault, 20, &total), 15);
	assert_int_equal(total, 40);
	for (i = 0; i < 15; i++)
		assert_int_equal(fault[i].offset, 26 + i);
	assert_int_equal(t3_space_faults(space, fault, 2, NULL), 2);
	assert_int_equal(fault[0].offset, 39);
	assert_int_equal(fault[1].offset, 40);
	assert_int_equal(t3_space_faults(space, NULL, 0, &total), 0);
	assert_int_equal(t3_space_faults(space, NULL, 1, &total), -EINVAL);
	assert_int_equal(t3_space_faults(NULL, fault, 1, &total), -EINVAL);
}

T3_TEST("state is polled")
{
	enum drm_t3_space_state now;
	uint32_t epoch;

	set_state(DRM_T3_SPACE_COMPLETE, 8);
	assert_int_equal(t3_poll_state(space, &now, &epoch), 0);
	assert_int_equal(now, DRM_T3_SPACE_COMPLETE);
	assert_int_equal(epoch, 8);
	assert_int_equal(t3_poll_state(space, NULL, NULL), 0);
	assert_int_equal(t3_poll_state(NULL, &now, &epoch), -EINVAL);
}

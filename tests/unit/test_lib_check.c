// SPDX-License-Identifier: MIT
/* libt3, T3_DEBUG=check: which stores are reported, and with which words. */
#ifdef __x86_64__

#include "test_lib_debug.h"
#include "test.h"

#include <sys/syscall.h>

/* Each form of address and each source once. */
static void store_in_all_ways(void)
{
	static const uint64_t want[4] = { 0x1122334455667788, 0xfffffffffffffffe,
					  0x99aabbccddeeff00, 0x0123456789abcdef };
	uint64_t half = 4;

	__asm__ volatile("movq %1, 128(%0)" ::"r"(aperture), "r"(want[0]) : "memory");
	__asm__ volatile("movq $-2, 128(%0,%1,2)" ::"r"(aperture), "r"(half) : "memory");
	got(128, want, 16);
	__asm__ volatile("movnti %1, 16(%0)" ::"r"(aperture + 128), "r"(want[2]) : "memory");
	__asm__ volatile("movq %1, %%xmm9\n\tmovq %%xmm9, 24(%0)" ::"r"(aperture + 128),
			 "r"(want[3])
			 : "memory", "xmm9");
	got(128, want, 32);
	__asm__ volatile("movd %1, %%xmm2\n\tmovss %%xmm2, 40(%0)" ::"r"(aperture + 128),
			 "r"((uint32_t)want[0])
			 : "memory", "xmm2");
	__asm__ volatile("movw $0x5566, 44(%0)" ::"r"(aperture + 128) : "memory");
	__asm__ volatile("movw %w1, -2(%0)" ::"r"(aperture + 128 + 48), "r"(0x3344) : "memory");
	got(168, "\x88\x77\x66\x55\x66\x55\x44\x33", 8);
	__asm__ volatile("movq %1, %%xmm3\n\tmovq %2, %%xmm4\n\tpunpcklqdq %%xmm4, %%xmm3\n\t"
			 "movhps %%xmm3, 48(%0)" ::"r"(aperture + 128),
			 "r"(want[0]), "r"(want[3])
			 : "memory", "xmm3", "xmm4");
	got(176, &want[3], 8);
}

/* For a processor with SSE4.1: compilers store halves so. */
static void store_elements(void)
{
	if (__builtin_cpu_supports("sse4.1"))
		__asm__ volatile("movq %1, %%xmm5\n\tpextrw $1, %%xmm5, 128(%0)\n\t"
				 "pextrd $1, %%xmm5, 132(%0)" ::"r"(aperture),
				 "r"(UINT64_C(0x1122334455667788))
				 : "memory", "xmm5");
	else
		__asm__ volatile(
			"movw $0x5566, 128(%0)\n\tmovl $0x11223344, 132(%0)" ::"r"(aperture)
			: "memory");
	got(128, "\x66\x55", 2);
	got(132, "\x44\x33\x22\x11", 4);
}

/* The last bytes of a space are as good as all others. */
static void store_at_the_end(void)
{
	struct t3_segment_desc flat = bytes_seg();

	flat.offset = SPACE_BYTES - 64;
	t3_local_map(space, &flat);
	put64(SPACE_BYTES - 8, 0x5051525354555657);
	got(SPACE_BYTES - 8, "\x57\x56\x55\x54\x53\x52\x51\x50", 8);
}

/* The first of two spaces is still known when the second one is destroyed. */
static void store_after_another_space(void)
{
	struct t3_space *other;

	if (t3_space_create(dev, buffer, 9, &other) || t3_space_destroy(other))
		_exit(4);
	put16(128, 0x4142);
	got(128, "\x42\x41", 2);
}

TEST("correct stores are not reported")
{
	expect_silence(store_in_all_ways);
	expect_silence(store_elements);
	expect_silence(store_at_the_end);
	expect_silence(store_after_another_space);
}

/* Segments of 1-byte elements accept any alignment. A high byte of a register is one byte, too. */
static void store_bytes(void)
{
	struct t3_segment_desc flat = bytes_seg();

	t3_local_map(space, &flat);
	put8(1024, 0x41);
	__asm__ volatile("movl $0x4200, %%eax\n\tmovb %%ah, 1(%0)" ::"Q"(aperture + 1024)
			 : "memory", "eax");
	put64(1026 + 1, 0x5051525354555657);
	put8(1026, 0x43);
	got(1024, "\x41\x42\x43\x57\x56\x55\x54\x53\x52\x51\x50", 11);
}

TEST("correct stores of bytes are not reported")
{
	expect_silence(store_bytes);
}

/* The library's own stores, of tiles, runs and producers, in two epochs. */
static void store_by_the_library(void)
{
	struct t3_producer_desc arg = { .segment = &seg, .path = T3_PATH_STORE };
	unsigned char image[512];
	struct t3_producer *p;
	struct t3_view view;
	uint64_t i;

	memset(image, 0x5a, sizeof(image));
	if (t3_view_aperture(space, &seg, &view))
		_exit(4);
	for (i = 0; i < 3; i++) {
		if (t3_store_tile(&view, i, image, 16))
			_exit(5);
	}
	t3_store_run(&view, 4, 16, image, 16);
	t3_store32(aperture + 128 + 5 * 40 + 16, 0x5a5a5a5a);
	t3_store64(aperture + 128 + 5 * 40 + 24, 0x5a5a5a5a5a5a5a5a);
	t3_store(aperture + 128 + 5 * 40 + 20, image, 4);
	for (i = 0; i < 6; i++)
		got((uint32_t)(128 + 40 * i), image, 32);
	set_state(DRM_T3_SPACE_IDLE, EPOCH);
	if (t3_producer_create(dev, space, &arg, &p))
		_exit(6);
	arm(EPOCH + 1);
	for (i = 0; i < 4; i++) {
		if (t3_producer_put_tile(p, i, image, 16))
			_exit(7);
	}
	t3_producer_destroy(p);
}

TEST("the library's own stores are not reported")
{
	expect_silence(store_by_the_library);
}

static void *fill_rows(void *arg)
{
	uint32_t row = (uint32_t)(uintptr_t)arg, col;

	for (; row < 6; row += 2) {
		for (col = 0; col < 32; col += 2)
			put16(128 + row * 40 + col, (uint16_t)(row * 100 + col));
	}
	return NULL;
}

static void store_in_threads(void)
{
	pthread_t thread[2];
	uintptr_t i;

	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, fill_rows, (void *)i);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < 6; i++)
		got((uint32_t)(128 + i * 40 + 30), &(uint16_t){ (uint16_t)(i * 100 + 30) }, 2);
}

TEST("threads may store at once")
{
	expect_silence(store_in_threads);
}

/* ------------------------------------------------------------------ mistakes */

/* A report is written in pieces, as to a pipe that is nearly full. */
ssize_t write(int fd, const void *data, size_t size)
{
	return syscall(SYS_write, fd, data, size < 100 ? size : 100);
}

static void twice(void)
{
	put32(128 + 40 + 16, 1);
	put16(128 + 40 + 20, 2);
	put64(128 + 40 + 16, 3);
}

static void twice_by_the_library(void)
{
	unsigned char image[64] = { 0 };
	struct t3_view view;

	t3_view_aperture(space, &seg, &view);
	put16(128 + 6, 1);
	t3_store_tile(&view, 0, image, 16);
}

/* A report that nobody can read ends the process, too. */
static void twice_unheard(void)
{
	close(STDERR_FILENO);
	twice();
}

static void before_armed(void)
{
	set_state(DRM_T3_SPACE_ARMING, EPOCH);
	put32(128, 1);
}

static void after_complete(void)
{
	set_state(DRM_T3_SPACE_COMPLETE, EPOCH);
	t3_store32(aperture + 128, 1);
}

static void outside_segments(void)
{
	put32(4096 + 64, 1);
}

/* A device that does not tell its rank. */
static void outside_of_an_unknown_rank(void)
{
	struct t3_space *other;

	kernel.fail_request = DRM_IOCTL_T3_QUERY;
	if (t3_space_create(dev, buffer, 9, &other))
		_exit(4);
	t3_store32((volatile unsigned char *)t3_space_aperture(other) + 64, 1);
}

static void where_a_segment_was(void)
{
	t3_unmap(space, 5);
	put32(128, 1);
}

/* A reset keeps local segments alone. */
static void where_a_remote_segment_was(void)
{
	struct t3_segment_desc flat = bytes_seg();

	if (t3_remote_map(space, &flat, &target) || t3_space_reset(space))
		_exit(4);
	put16(128, 1);
	put8(1024, 1);
}

static void in_padding(void)
{
	put32(128 + 2 * 40 + 36, 1);
}

static void over_a_row(void)
{
	put32(128 + 30, 1);
}

static void over_the_space(void)
{
	t3_store64(aperture + SPACE_BYTES - 4, 1);
}

static void too_narrow(void)
{
	put8(128, 1);
}

static void misaligned(void)
{
	put32(130, 1);
}

static void misaligned_by_the_library(void)
{
	t3_store32(aperture + 130, 1);
}

static void over_a_tile(void)
{
	struct t3_segment_desc flat = bytes_seg();

	flat.tile_row_bytes = 12;
	t3_local_map(space, &flat);
	put64(1024 + 8, 1);
}

TEST("each mistake of a store is reported with its place")
{
	expect_report(twice, "an element is stored again in one epoch",
		      "mov of 8 bytes at byte 0xb8", "space 21, armed, epoch 7",
		      "segment 5 (local f16), tile 1 (rows 0 .. 3, bytes 16 .. 31 of a row)",
		      "row 1, bytes 16 .. 23", "stored there before:", NULL);
	run(twice_unheard, "check");
	assert_string_equal(outcome.text, "");
	assert_true(WIFSIGNALED(outcome.status));
	assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
	expect_report(twice_by_the_library, "stored again",
		      "t3_store_tile() of 8 bytes at byte 0x80", "tile 0", NULL);
	expect_report(before_armed, "a store while the space is not armed", "space 21, arming",
		      "t3_wait_armed()", "tile 0", NULL);
	expect_report(after_complete, "a store while the space is not armed", "space 21, complete",
		      "t3_store32() of 4 bytes", NULL);
	expect_report(outside_segments, "a store outside every segment", "at byte 0x1040", NULL);
	expect_report(outside_of_an_unknown_rank, "outside every segment", "  rank 0, space 21",
		      NULL);
	expect_report(where_a_segment_was, "a store outside every segment", "at byte 0x80", NULL);
	expect_report(where_a_remote_segment_was, "a store outside every segment", "at byte 0x400",
		      NULL);
	expect_report(in_padding, "a store to the padding between two rows", "row 2, byte 36",
		      "a row has 32 bytes", NULL);
	expect_report(over_a_row, "a store over the end of a row", "row 0, bytes 30 .. 33", NULL);
	expect_report(over_the_space, "a store beyond the space's end", "at byte 0x1ffc", NULL);
	expect_report(too_narrow, "a store of less than an element", "mov of 1 bytes", NULL);
	expect_report(misaligned, "a store that is not aligned to its width", NULL);
	expect_report(misaligned_by_the_library, "a store that is not aligned to its width",
		      "t3_store32()", NULL);
	expect_report(over_a_tile, "a store over a tile's edge", "segment 2 (local u8), tile 0",
		      "row 0, bytes 8 .. 15", NULL);
}

static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void by_memcpy(void)
{
	unsigned char source[32] = { 1 };

	copy((void *)(uintptr_t)(aperture + 128), source, sizeof(source));
}

static void by_rep_movs(void)
{
	unsigned char source[32] = { 1 };
	volatile void *to = aperture + 128;
	const void *from = source;
	size_t count = sizeof(source);

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
}

static void by_vector(void)
{
	__asm__ volatile("movups %%xmm0, (%0)" ::"r"(aperture + 128) : "memory");
}

static void by_wide_vector(void)
{
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovdqu %%ymm0, (%0)" ::"r"(aperture + 128) : "memory");
	else
		by_vector();
}

static void by_exchange(void)
{
	uint32_t value = 1;

	__asm__ volatile("xchgl %1, (%0)" ::"r"(aperture + 128), "r"(value) : "memory");
}

static void by_addition(void)
{
	__asm__ volatile("lock addl $1, (%0)" ::"r"(aperture + 128) : "memory");
}

TEST("instructions that do not store once are reported")
{
	expect_report(by_memcpy, "no store that the device counts once", "at byte 0x80",
		      "segment 5 (local f16), tile 0", "not memcpy()", named("by_memcpy"), NULL);
	expect_report(by_rep_movs, "no store that the device", "  rep movs at byte 0x80", NULL);
	expect_report(by_vector, "no store that the device", "movups of 16 bytes", NULL);
	expect_report(by_wide_vector, "no store that the device",
		      __builtin_cpu_supports("avx") ? "vmovdqu of 32 bytes" : "movups", NULL);
	expect_report(by_exchange, "no store that the device", "  xchg at byte", NULL);
	expect_report(by_addition, "no store that the device", "locked read-modify-write", NULL);
}

/* --------------------------------------------------------------- its settings */

static unsigned int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int count = 0;
	int c;

	while ((c = fgetc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

/* the checker can watch 1024 */
static void one_space_too_many(void)
{
	struct t3_space *more;
	unsigned int before, i;

	for (i = 1; i < 1024; i++) {
		if (t3_space_create(dev, buffer, 9, &more))
			_exit(4);
	}
	before = mappings();
	if (t3_space_create(dev, buffer, 9, &more) != -ENOSPC)
		_exit(5);
	if (mappings() != before)
		_exit(6);
}

TEST("a space beyond the checker's limit is refused")
{
	expect_silence(one_space_too_many);
}

static void many_mistakes(void)
{
	put32(64, 1);
	put32(128, 2);
	put32(128, 3);
	got(64, "\0\0\0\0", 4);
	got(128, "\2\0\0\0", 4);
}

static void store_anyhow(void)
{
	copy((void *)(uintptr_t)(aperture + 64), "abcdefgh", 8);
	put32(128, 1);
	put32(128, 2);
	got(128, "\2\0\0\0", 4);
}

TEST("the settings decide what follows a report")
{
	expect_warning(many_mistakes, "continue,check", "a store outside every segment",
		       "an element is stored again", NULL);
	assert_null(strstr(strstr(outcome.text, "outside every") + 1, "outside every"));
	run(by_vector, "check,continue");
	assert_non_null(strstr(outcome.text, "It cannot be made here"));
	assert_string_equal(strstr(outcome.text, "  It cannot be made here"),
			    "  It cannot be made here: this is the end.\n");
	assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
	/* Without the checker nothing is reported, and all stores are made. */
	run(store_anyhow, NULL);
	assert_string_equal(outcome.text, "");
	assert_int_equal(outcome.status, 0);
	run(store_anyhow, "");
	assert_string_equal(outcome.text, "");
	expect_warning(store_anyhow, "chekc", "libt3: T3_DEBUG: \"chekc\" is unknown",
		       "check and continue", NULL);
	expect_warning(store_in_all_ways, "check,,fast", "\"fast\" is unknown", NULL);
}

/* ------------------------------------------------------------ wrong registers */

/*
 * As under valgrind: a handler sees other registers than the program had. The stand-in for
 * sigaction() puts a handler before the checker's that changes some of them.
 */
static enum { SPOIL_NOTHING, SPOIL_GENERAL, SPOIL_VECTOR, SPOIL_ADDRESS } spoil;
static void (*spoiled_handler)(int sig, siginfo_t *info, void *context);

static void show_wrong_registers(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *real = arg, shown = *real;
	struct _libc_fpstate vectors = *real->uc_mcontext.fpregs;

	shown.uc_mcontext.fpregs = &vectors;
	if (spoil == SPOIL_GENERAL)
		shown.uc_mcontext.gregs[REG_RAX] = 0;
	else if (spoil == SPOIL_ADDRESS)
		shown.uc_mcontext.gregs[REG_RCX] = 0;
	else
		memset(vectors._xmm, 0, sizeof(vectors._xmm));
	spoiled_handler(sig, info, &shown);
	real->uc_mcontext.gregs[REG_RIP] = shown.uc_mcontext.gregs[REG_RIP];
}

int sigaction(int sig, const struct sigaction *action, struct sigaction *before)
{
	int (*real)(int, const struct sigaction *, struct sigaction *) =
		(int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT,
										  "sigaction");
	struct sigaction another;

	if (!spoil || sig != SIGSEGV || !action || !(action->sa_flags & SA_SIGINFO))
		return real(sig, action, before);
	another = *action;
	spoiled_handler = action->sa_sigaction;
	another.sa_sigaction = show_wrong_registers;
	return real(sig, &another, before);
}

TEST("wrong registers are refused")
{
	for (spoil = SPOIL_GENERAL; spoil <= SPOIL_ADDRESS; spoil++)
		expect_warning(store_in_all_ways, "check",
			       "libt3: T3_DEBUG=check: nothing is checked: what runs this program",
			       "wrong registers", "valgrind", NULL);
	spoil = SPOIL_NOTHING;
	expect_silence(store_in_all_ways);
}

/* The kernel would end the process at its first store. */
TEST("a thread that blocks segv is refused")
{
	sigset_t set, was;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	expect_warning(store_in_all_ways, "check", "nothing is checked", "blocks SIGSEGV", NULL);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

/* ------------------------------------------------------------ other handlers */

static unsigned char *foreign;

static void on_foreign(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_addr != foreign)
		_exit(21);
	mprotect(foreign, 4096, PROT_READ | PROT_WRITE);
}

/* Faults outside of apertures go where they would go without the checker. */
static void foreign_fault(void (*before)(void))
{
	foreign = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	before();
	setenv("T3_DEBUG", "check", 1);
	start();
	__asm__ volatile("movb $1, (%0)" ::"r"(foreign) : "memory");
	_exit(foreign[0] == 1 ? 0 : 22);
}

static void take_segv(void)
{
	struct sigaction action = { .sa_sigaction = on_foreign, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
}

static void on_overflow(int sig)
{
	(void)sig;
	_exit(0);
}

static uint32_t dive(uint32_t depth)
{
	volatile char room[4096];

	room[depth % sizeof(room)] = 1;
	return depth ? dive(depth - 1) + (uint32_t)room[0] : 0;
}

/* A program that knows how to end then. The checker's own handler needs a stack, too. */
static void overflow_the_stack(void)
{
	struct sigaction action = { .sa_handler = on_overflow, .sa_flags = SA_ONSTACK };
	stack_t other = { .ss_sp = malloc(1 << 17), .ss_size = 1 << 17 };

	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &action, NULL);
	setenv("T3_DEBUG", "check", 1);
	start();
	_exit(23 + (dive(UINT32_MAX) == 1));
}

static void default_segv(void)
{
	signal(SIGSEGV, SIG_DFL);
}

static void ignore_segv(void)
{
	signal(SIGSEGV, SIG_IGN);
}

static int end_of(void (*before)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		foreign_fault(before);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

TEST("other faults go to the program's own handlers")
{
	int status;

	assert_int_equal(end_of(take_segv), 0);
	assert_int_equal(end_of(overflow_the_stack), 0);
	status = end_of(default_segv);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = end_of(ignore_segv);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* An address less its offset in the object is the object's start, which is on a page boundary. */
static uint64_t bias_of_first_frame(void)
{
	unsigned long long address = 0, offset = 0;
	const char *line = strstr(outcome.text, "#0 ");
	const char *plus = line ? strstr(line, "+0x") : NULL;

	assert_non_null(plus);
	assert_int_equal(sscanf(line, "#0 %llx", &address), 1);
	assert_int_equal(sscanf(plus, "+%llx", &offset), 1);
	return address - offset;
}

TEST("a report names the lines of code")
{
	expect_report(by_rep_movs, named("by_rep_movs"), named("test_lib_check.c:"), NULL);
	assert_int_equal(bias_of_first_frame() % 4096, 0);
	/* The line of a call is that of the byte before the return address. */
	expect_report(twice_by_the_library, named("twice_by_the_library"), NULL);
	assert_int_equal(bias_of_first_frame() % 4096, 1);
}

#else

int main(void)
{
	return 77; /* traps are known for x86-64 only */
}

#endif

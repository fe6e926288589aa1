// SPDX-License-Identifier: MIT
/*
 * T3_DEBUG=check: a store to an aperture that the program can only read. The handler decodes it,
 * judges it, and makes it on the real mapping. All of it but a report is safe in a signal handler.
 */
#define _GNU_SOURCE /* REG_RIP */
#include "check/check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check/decode.h"

#ifdef __x86_64__

#define PAGE_FAULT_WRITE 2 /* a bit of the page fault's error code */

static struct sigaction before;

/* ------------------------------------------------------------------ registers */

static uint64_t read_register(const ucontext_t *context, uint8_t number)
{
	static const uint8_t index[16] = {
		REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
		REG_R8,	 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	};

	return (uint64_t)context->uc_mcontext.gregs[index[number & 15]];
}

static uint64_t read_vector(const ucontext_t *context, uint8_t number, bool high)
{
	uint64_t half[2];

	memcpy(half, &context->uc_mcontext.fpregs->_xmm[number & 15], sizeof(half));
	return half[high];
}

static uint64_t read_value(const ucontext_t *context, const struct insn *insn)
{
	switch (insn->source) {
	case INSN_REGISTER:
		return read_register(context, insn->reg);
	case INSN_HIGH_BYTE:
		return read_register(context, insn->reg) >> 8;
	case INSN_VECTOR_LOW:
	case INSN_VECTOR_HIGH:
		return read_vector(context, insn->reg, insn->source == INSN_VECTOR_HIGH) >>
		       insn->shift;
	default:
		return insn->value;
	}
}

/* Look up the first byte. The trapped address may be a later byte, on the next page. */
static uintptr_t read_address(const ucontext_t *context, const struct insn *insn, uintptr_t trapped)
{
	uint64_t address = (uint64_t)insn->displacement;

	if (insn->based || insn->source == INSN_OTHER)
		return trapped;
	if (insn->base == INSN_RIP)
		address += (uint64_t)context->uc_mcontext.gregs[REG_RIP] + insn->length;
	else if (insn->base != INSN_NO_REGISTER)
		address += read_register(context, insn->base);
	if (insn->index != INSN_NO_REGISTER)
		address += read_register(context, insn->index) << insn->scale;
	return insn->narrow ? (uint32_t)address : address;
}

/* ---------------------------------------------------------------------- trap */

static void emulate(struct t3_check *check, ucontext_t *context, uintptr_t trapped)
{
	const uint8_t *code = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
	struct check_event event = { .code = code, .exact = true };
	struct insn insn;

	t3_insn_decode(code, &insn);
	event.what = insn.name;
	event.width = insn.width;
	event.offset = read_address(context, &insn, trapped) - check->shown;
	if (insn.source == INSN_OTHER) {
		t3_check_lock();
		event.mistake = CHECK_NO_MOVE;
		t3_check_now(check, &event);
		t3_check_place(check, &event);
		t3_check_report(check, &event);
		if (t3_check_goes_on)
			t3_check_say("  It cannot be made here: this is the end.\n");
		t3_check_flush();
		t3_check_goes_on = false;
		t3_check_unlock();
		t3_check_end();
	}
	t3_check_one(check, &event, read_value(context, &insn));
	context->uc_mcontext.gregs[REG_RIP] += insn.length;
}

/* The fault is not about an aperture. Do what would happen without the checker. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	struct sigaction fatal = { .sa_handler = SIG_DFL };

	sigset_t mask = before.sa_mask;
	bool sent = info->si_code <= 0;

	if (!(before.sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	if (before.sa_flags & SA_SIGINFO) {
		pthread_sigmask(SIG_BLOCK, &mask, NULL);
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		pthread_sigmask(SIG_BLOCK, &mask, NULL);
		before.sa_handler(sig);
	} else if (!sent || before.sa_handler == SIG_DFL) {
		/*
		 * Return from the handler, so that the instruction faults again. A signal that
		 * another process sent is sent again.
		 */
		sigaction(sig, &fatal, NULL);
		if (sent)
			raise(sig);
	}
}

/* ----------------------------------------------------------------- self-test */

/*
 * A program that translates this one, such as valgrind, may show a handler registers of some time
 * before, and load these when the handler returns. The checker would then make other stores than
 * the program, without a word. So stores of known values are trapped before the first space exists.
 */
static struct {
	unsigned char *page; /* read-only; NULL: no test runs */
	sigjmp_buf back;
	bool resumes;	/* after the store; else at `back`, by memory alone */
	uint32_t traps; /* of this store */
	uint64_t value; /* as the handler saw it */
	uintptr_t address;
} probe;

static void take_probe(ucontext_t *context, uintptr_t trapped)
{
	struct insn insn;

	t3_insn_decode((const uint8_t *)context->uc_mcontext.gregs[REG_RIP], &insn);
	probe.value = read_value(context, &insn);
	probe.address = read_address(context, &insn, trapped);
	if (++probe.traps > 1 || !probe.resumes)
		siglongjmp(probe.back, 1);
	context->uc_mcontext.gregs[REG_RIP] += insn.length;
}

/* All registers change after the store: a translator may then write back the last values alone. */
static void probe_general(void *at, uint64_t value)
{
	__asm__ volatile("movq %0, %%rcx\n\t"
			 "movq %1, %%rax\n\t"
			 "movq %%rax, (%%rcx)\n\t"
			 "xorl %%eax, %%eax\n\t"
			 "xorl %%ecx, %%ecx" ::"r"(at),
			 "r"(value)
			 : "rax", "rcx", "cc", "memory");
}

static void probe_vector(void *at, uint64_t value)
{
	__asm__ volatile("movq %0, %%rcx\n\t"
			 "movq %1, %%xmm0\n\t"
			 "movq %%xmm0, (%%rcx)\n\t"
			 "pxor %%xmm0, %%xmm0\n\t"
			 "xorl %%ecx, %%ecx" ::"r"(at),
			 "r"(value)
			 : "xmm0", "rcx", "cc", "memory");
}

static bool is_trapped(void (*store)(void *at, uint64_t value), uint32_t offset, uint64_t value,
		       bool resumes)
{
	probe.resumes = resumes;
	probe.traps = 0;
	if (!sigsetjmp(probe.back, 0))
		store(probe.page + offset, value);
	return probe.traps == 1 && probe.value == value &&
	       probe.address == (uintptr_t)probe.page + offset;
}

static bool registers_are_right(void)
{
	void *page = mmap(NULL, T3_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool right;

	if (page == MAP_FAILED)
		return false;
	probe.page = page;
	right = is_trapped(probe_general, 8, 0x1122334455667788, false) &&
		is_trapped(probe_vector, 16, 0x99aabbccddeeff00, false) &&
		is_trapped(probe_general, 24, 0x8f9e6d7c4b5a2938, true) &&
		is_trapped(probe_vector, 32, 0x0f1e2d3c5a4b7869, true);
	probe.page = NULL;
	munmap(page, T3_PAGE);
	return right;
}

static void on_trap(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;
	uintptr_t address = (uintptr_t)info->si_addr;
	struct t3_check *check = NULL;
	bool probed = false;
	int error = errno;

	if (info->si_code > 0 && context->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WRITE) {
		probed = probe.page && address - (uintptr_t)probe.page < T3_PAGE;
		t3_check_lock();
		check = t3_check_find(address);
		t3_check_unlock();
	}
	if (probed)
		take_probe(context, address);
	else if (check)
		emulate(check, context, address);
	else
		pass_on(sig, info, arg);
	errno = error;
}

/* Called once: a libt3 that is unloaded and loaded again finds this state unchanged. */
const char *t3_check_begin(bool goes_on)
{
	/* SA_NODEFER: the real store may fault, and that fault is for the program's own handler. */
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK,
	};
	static bool begun;
	sigset_t blocked;

	t3_check_goes_on = goes_on;
	if (begun)
		return NULL;
	/* The kernel ends a process by a SIGSEGV that its thread blocks. */
	if (!pthread_sigmask(SIG_BLOCK, NULL, &blocked) && sigismember(&blocked, SIGSEGV))
		return "this thread blocks SIGSEGV, by which stores are caught";
	if (sigaction(SIGSEGV, &action, &before))
		return "SIGSEGV cannot be caught";
	/* Not while another thread has the lock, which a child could not take any more. */
	pthread_atfork(t3_check_lock, t3_check_unlock, t3_check_unlock);
	begun = registers_are_right();
	if (begun)
		return NULL;
	sigaction(SIGSEGV, &before, NULL);
	return "what runs this program shows a signal's handler wrong registers, as valgrind does; "
	       "run it without that";
}

#else

/* Other processors' stores are not decoded. There only libt3's own stores are checked. */
const char *t3_check_begin(bool goes_on)
{
	t3_check_goes_on = goes_on;
	return NULL;
}

#endif

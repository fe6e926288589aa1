// SPDX-License-Identifier: MIT
/*
 * T3_DEBUG=check: a store to an aperture that the program can only read. The handler decodes it,
 * judges it, and makes it on the real mapping. All of it but a report is safe in a signal handler.
 */
#define _GNU_SOURCE /* REG_RIP */
#include "check/check.h"

#include <signal.h>
#include <string.h>
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

static void report_other(struct t3_check *check, struct check_event *event)
{
	t3_check_lock();
	event->mistake = CHECK_NO_MOVE;
	t3_check_now(check, event);
	t3_check_place(check, event);
	t3_check_report(check, event);
	if (t3_check_goes_on)
		t3_check_say("  It cannot be made here: this is the end.\n");
	t3_check_flush();
	t3_check_goes_on = false;
	t3_check_unlock();
	t3_check_end();
}

static void emulate(struct t3_check *check, ucontext_t *context, uintptr_t trapped)
{
	const uint8_t *code = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
	struct check_event event = { .code = code, .exact = true };
	struct insn insn;

	t3_insn_decode(code, &insn);
	event.what = insn.name;
	event.width = insn.width;
	event.offset = read_address(context, &insn, trapped) - check->shown;
	if (insn.source == INSN_OTHER)
		report_other(check, &event);
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

static void on_trap(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;
	struct t3_check *check = NULL;
	int error = errno;

	if (info->si_code > 0 && context->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WRITE) {
		t3_check_lock();
		check = t3_check_find((uintptr_t)info->si_addr);
		t3_check_unlock();
	}
	if (check)
		emulate(check, context, (uintptr_t)info->si_addr);
	else
		pass_on(sig, info, arg);
	errno = error;
}

/* SA_NODEFER: the real store may fault, and that fault is for the program's own handler. */
static bool install(void)
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK,
	};

	return !sigaction(SIGSEGV, &action, &before);
}

#else

/* Other processors' stores are not decoded. There only libt3's own stores are checked. */
static bool install(void)
{
	return true;
}

#endif

/* Happens once: a libt3 that is unloaded and loaded again finds this state unchanged. */
bool t3_check_begin(bool goes_on)
{
	static bool begun;

	t3_check_goes_on = goes_on;
	if (!begun)
		begun = install();
	return begun;
}

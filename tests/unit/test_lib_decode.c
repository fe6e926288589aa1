// SPDX-License-Identifier: MIT
/*
 * libt3, T3_DEBUG=check: the decoder of stores, tested on the assembler's output. The bytes after
 * an instruction are those of the next one. A decoder that reads them finds a wrong length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "check/decode.h"
#include "test.h"

#define NONE INSN_NO_REGISTER

/* clang-format off */
#define CODE(id, text)                                                \
	extern const uint8_t code_##id[], end_##id[];                 \
	__asm__(".pushsection .rodata\ncode_" #id ":\n\t" text        \
		"\nend_" #id ":\n\t.popsection\n")
/* clang-format on */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

#ifdef __x86_64__
/* Every width. */
CODE(mov8, "movb %cl, (%rdi)");
CODE(mov16, "movw %dx, (%rdi)");
CODE(mov32, "movl %edx, (%rdi)");
CODE(mov64, "movq %rdx, (%rdi)");
CODE(sil, "movb %sil, (%rdi)");
CODE(ah, "movb %ah, (%rdi)");
CODE(bh, "movb %bh, (%rdi)");
CODE(r15b, "movb %r15b, (%rdi)");
CODE(r9w, "movw %r9w, (%rdi)");
CODE(r10, "movq %r10, (%rdi)");
/* Every form of an address. */
CODE(disp8, "movl %eax, -8(%rsi)");
CODE(disp32, "movl %eax, 0x12345(%rsi)");
CODE(rsp, "movl %eax, (%rsp)");
CODE(rsp_disp, "movl %eax, 16(%rsp)");
CODE(rbp, "movl %eax, (%rbp)");
CODE(r12, "movl %eax, (%r12)");
CODE(r13, "movl %eax, (%r13)");
CODE(sib, "movq %r8, (%rdi,%rcx,8)");
CODE(sib_disp8, "movw %ax, 6(%r9,%r12,2)");
CODE(sib_disp32, "movb %al, -0x1000(%rbx,%r15,4)");
CODE(no_base, "movl %eax, 0x40(,%rcx,4)");
CODE(absolute, "movl %eax, 0x7000");
CODE(rip, "movl %eax, 0x100(%rip)");
CODE(short_base, "movl %eax, 4(%edi)");
CODE(on_fs, "movl %eax, %fs:(%rdi)");
/* Immediates. Those of 4 bytes are extended by their sign. */
CODE(imm8, "movb $0x81, 3(%rdi)");
CODE(imm16, "movw $0x8182, (%rdi)");
CODE(imm32, "movl $0x81828384, (%rdi)");
CODE(imm64, "movq $-2, (%r11)");
CODE(imm_rip, "movl $7, 0x100(%rip)");
CODE(offset64, "movabs %rax, 0x1122334455667788");
CODE(offset8, "movabs %al, 0x1122334455667788");
/* Other single stores. */
CODE(nti32, "movnti %ecx, (%rdi)");
CODE(nti64, "movnti %r9, 8(%rdi)");
CODE(movss, "movss %xmm3, (%rdi)");
CODE(movsd, "movsd %xmm11, (%r8)");
CODE(movd, "movd %xmm1, (%rdi)");
CODE(movq_gpr, ".byte 0x66, 0x48, 0x0f, 0x7e, 0x0f"); /* movq %xmm1, (%rdi) with REX.W */
CODE(movq, "movq %xmm1, (%rdi)");
CODE(movlps, "movlps %xmm2, (%rdi)");
CODE(movhps, "movhps %xmm2, (%rdi)");
CODE(vmovss, "vmovss %xmm3, 4(%rdi)");
CODE(vmovsd, "vmovsd %xmm12, (%r9,%r10,8)");
CODE(vmovd, "vmovd %xmm1, (%rdi)");
CODE(vmovq, "vmovq %xmm9, (%rdi)");
CODE(pextrb, "pextrb $9, %xmm4, (%rdi)");
CODE(pextrw, "pextrw $3, %xmm0, 2(%rdi)");
CODE(pextrd, "pextrd $3, %xmm9, (%r8)");
CODE(pextrq, "pextrq $1, %xmm0, (%rdi)");
CODE(extractps, "extractps $1, %xmm0, (%rdi)");
CODE(vpextrw, "vpextrw $4, %xmm0, (%rdi)");
/* Instructions that are no single store. */
CODE(movups, "movups %xmm0, (%rdi)");
CODE(movaps, "movaps %xmm0, (%rdi)");
CODE(movdqa, "movdqa %xmm0, (%rdi)");
CODE(movdqu, "movdqu %xmm0, (%rdi)");
CODE(movntdq, "movntdq %xmm0, (%rdi)");
CODE(movntps, "movntps %xmm0, (%rdi)");
CODE(vmovdqu, "vmovdqu %ymm0, (%rdi)");
CODE(vmovdqu16, "vmovdqu %xmm0, (%rdi)");
CODE(vmovups, "vmovups %ymm8, (%r9)");
CODE(vextract, "vextractf128 $1, %ymm0, (%rdi)");
CODE(zmm, "vmovdqu64 %zmm0, (%rdi)");
CODE(rep_movsb, "rep movsb");
CODE(rep_stosq, "rep stosq");
CODE(movsq, "movsq");
CODE(stosb, "stosb");
CODE(xchg, "xchg %eax, (%rdi)");
CODE(lock_add, "lock addl $1, (%rdi)");
CODE(add, "addq %rax, (%rdi)");
CODE(or8, "orb $1, (%rdi)");
CODE(cmpxchg, "lock cmpxchg %ecx, (%rdi)");
CODE(xadd, "lock xadd %ecx, (%rdi)");
CODE(setz, "setz (%rdi)");
CODE(movbe, "movbe %eax, (%rdi)");
CODE(pop, "popq (%rdi)");

/* clang-format off */
#define MOVE(id, name, width, source, reg, base, index, scale, disp, value) \
	{ code_##id, end_##id, name, width, source, reg, base, index, scale, disp, value }
#define OTHER(id, name, width) \
	{ code_##id, end_##id, name, width, INSN_OTHER, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

static const struct row {
	const uint8_t *code, *end;
	const char *name;
	uint8_t width, source, reg, base, index, scale;
	int64_t displacement;
	uint64_t value;
} rows[] = {
	MOVE(mov8, "mov", 1, INSN_REGISTER, RCX, RDI, NONE, 0, 0, 0),
	MOVE(mov16, "mov", 2, INSN_REGISTER, RDX, RDI, NONE, 0, 0, 0),
	MOVE(mov32, "mov", 4, INSN_REGISTER, RDX, RDI, NONE, 0, 0, 0),
	MOVE(mov64, "mov", 8, INSN_REGISTER, RDX, RDI, NONE, 0, 0, 0),
	MOVE(sil, "mov", 1, INSN_REGISTER, RSI, RDI, NONE, 0, 0, 0),
	MOVE(ah, "mov", 1, INSN_HIGH_BYTE, RAX, RDI, NONE, 0, 0, 0),
	MOVE(bh, "mov", 1, INSN_HIGH_BYTE, RBX, RDI, NONE, 0, 0, 0),
	MOVE(r15b, "mov", 1, INSN_REGISTER, R15, RDI, NONE, 0, 0, 0),
	MOVE(r9w, "mov", 2, INSN_REGISTER, R9, RDI, NONE, 0, 0, 0),
	MOVE(r10, "mov", 8, INSN_REGISTER, R10, RDI, NONE, 0, 0, 0),
	MOVE(disp8, "mov", 4, INSN_REGISTER, RAX, RSI, NONE, 0, -8, 0),
	MOVE(disp32, "mov", 4, INSN_REGISTER, RAX, RSI, NONE, 0, 0x12345, 0),
	MOVE(rsp, "mov", 4, INSN_REGISTER, RAX, RSP, NONE, 0, 0, 0),
	MOVE(rsp_disp, "mov", 4, INSN_REGISTER, RAX, RSP, NONE, 0, 16, 0),
	MOVE(rbp, "mov", 4, INSN_REGISTER, RAX, RBP, NONE, 0, 0, 0),
	MOVE(r12, "mov", 4, INSN_REGISTER, RAX, R12, NONE, 0, 0, 0),
	MOVE(r13, "mov", 4, INSN_REGISTER, RAX, R13, NONE, 0, 0, 0),
	MOVE(sib, "mov", 8, INSN_REGISTER, R8, RDI, RCX, 3, 0, 0),
	MOVE(sib_disp8, "mov", 2, INSN_REGISTER, RAX, R9, R12, 1, 6, 0),
	MOVE(sib_disp32, "mov", 1, INSN_REGISTER, RAX, RBX, R15, 2, -0x1000, 0),
	MOVE(no_base, "mov", 4, INSN_REGISTER, RAX, NONE, RCX, 2, 0x40, 0),
	MOVE(absolute, "mov", 4, INSN_REGISTER, RAX, NONE, NONE, 0, 0x7000, 0),
	MOVE(rip, "mov", 4, INSN_REGISTER, RAX, INSN_RIP, NONE, 0, 0x100, 0),
	MOVE(short_base, "mov", 4, INSN_REGISTER, RAX, RDI, NONE, 0, 4, 0),
	MOVE(on_fs, "mov", 4, INSN_REGISTER, RAX, RDI, NONE, 0, 0, 0),
	MOVE(imm8, "mov", 1, INSN_IMMEDIATE, 0, RDI, NONE, 0, 3, 0xffffffffffffff81),
	MOVE(imm16, "mov", 2, INSN_IMMEDIATE, 0, RDI, NONE, 0, 0, 0xffffffffffff8182),
	MOVE(imm32, "mov", 4, INSN_IMMEDIATE, 0, RDI, NONE, 0, 0, 0xffffffff81828384),
	MOVE(imm64, "mov", 8, INSN_IMMEDIATE, 0, R11, NONE, 0, 0, 0xfffffffffffffffe),
	MOVE(imm_rip, "mov", 4, INSN_IMMEDIATE, 0, INSN_RIP, NONE, 0, 0x100, 7),
	MOVE(offset64, "mov", 8, INSN_REGISTER, RAX, NONE, NONE, 0, 0x1122334455667788, 0),
	MOVE(offset8, "mov", 1, INSN_REGISTER, RAX, NONE, NONE, 0, 0x1122334455667788, 0),
	MOVE(nti32, "movnti", 4, INSN_REGISTER, RCX, RDI, NONE, 0, 0, 0),
	MOVE(nti64, "movnti", 8, INSN_REGISTER, R9, RDI, NONE, 0, 8, 0),
	MOVE(movss, "movss", 4, INSN_VECTOR_LOW, 3, RDI, NONE, 0, 0, 0),
	MOVE(movsd, "movsd", 8, INSN_VECTOR_LOW, 11, R8, NONE, 0, 0, 0),
	MOVE(movd, "movd", 4, INSN_VECTOR_LOW, 1, RDI, NONE, 0, 0, 0),
	MOVE(movq_gpr, "movq", 8, INSN_VECTOR_LOW, 1, RDI, NONE, 0, 0, 0),
	MOVE(movq, "movq", 8, INSN_VECTOR_LOW, 1, RDI, NONE, 0, 0, 0),
	MOVE(movlps, "movlps", 8, INSN_VECTOR_LOW, 2, RDI, NONE, 0, 0, 0),
	MOVE(movhps, "movhps", 8, INSN_VECTOR_HIGH, 2, RDI, NONE, 0, 0, 0),
	MOVE(vmovss, "vmovss", 4, INSN_VECTOR_LOW, 3, RDI, NONE, 0, 4, 0),
	MOVE(vmovsd, "vmovsd", 8, INSN_VECTOR_LOW, 12, R9, R10, 3, 0, 0),
	MOVE(vmovd, "vmovd", 4, INSN_VECTOR_LOW, 1, RDI, NONE, 0, 0, 0),
	MOVE(vmovq, "vmovq", 8, INSN_VECTOR_LOW, 9, RDI, NONE, 0, 0, 0),
	MOVE(pextrb, "pextrb", 1, INSN_VECTOR_HIGH, 4, RDI, NONE, 0, 0, 0),
	MOVE(pextrw, "pextrw", 2, INSN_VECTOR_LOW, 0, RDI, NONE, 0, 2, 0),
	MOVE(pextrd, "pextrd", 4, INSN_VECTOR_HIGH, 9, R8, NONE, 0, 0, 0),
	MOVE(pextrq, "pextrq", 8, INSN_VECTOR_HIGH, 0, RDI, NONE, 0, 0, 0),
	MOVE(extractps, "extractps", 4, INSN_VECTOR_LOW, 0, RDI, NONE, 0, 0, 0),
	MOVE(vpextrw, "vpextrw", 2, INSN_VECTOR_HIGH, 0, RDI, NONE, 0, 0, 0),
	OTHER(movups, "movups", 16),
	OTHER(movaps, "movaps", 16),
	OTHER(movdqa, "movdqa", 16),
	OTHER(movdqu, "movdqu", 16),
	OTHER(movntdq, "movntdq", 16),
	OTHER(movntps, "movntps", 16),
	OTHER(vmovdqu, "vmovdqu", 32),
	OTHER(vmovdqu16, "vmovdqu", 16),
	OTHER(vmovups, "vmovups", 32),
	OTHER(vextract, "AVX store", 0),
	OTHER(zmm, "AVX-512 store", 0),
	OTHER(rep_movsb, "rep movs", 0),
	OTHER(rep_stosq, "rep stos", 0),
	OTHER(movsq, "movs", 0),
	OTHER(stosb, "stos", 0),
	OTHER(xchg, "xchg", 0),
	OTHER(lock_add, "locked read-modify-write", 0),
	OTHER(add, "read-modify-write", 0),
	OTHER(or8, "read-modify-write", 0),
	OTHER(cmpxchg, "locked cmpxchg", 0),
	OTHER(xadd, "locked xadd", 0),
	OTHER(setz, "setcc", 0),
	OTHER(movbe, "movbe", 0),
	OTHER(pop, "pop", 0),
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void check_row(const struct row *row, const struct insn *insn)
{
	assert_string_equal(insn->name, row->name);
	assert_int_equal(insn->width, row->width);
	assert_int_equal(insn->source, row->source);
	assert_int_equal(insn->length, row->source == INSN_OTHER ? 0 : row->end - row->code);
	if (row->source == INSN_OTHER)
		return;
	if (row->source != INSN_IMMEDIATE)
		assert_int_equal(insn->reg, row->reg);
	assert_int_equal(insn->base, row->base);
	assert_int_equal(insn->index, row->index);
	if (row->index != NONE)
		assert_int_equal(insn->scale, row->scale);
	assert_int_equal(insn->displacement, row->displacement);
	assert_int_equal(insn->value, row->value);
}

TEST("every instruction is decoded")
{
	struct insn insn;
	size_t i;

	for (i = 0; i < ROW_COUNT; i++) {
		t3_insn_decode(rows[i].code, &insn);
		check_row(&rows[i], &insn);
	}
}

TEST("addresses of other kinds are told apart")
{
	struct insn insn;

	t3_insn_decode(code_short_base, &insn);
	assert_true(insn.narrow);
	t3_insn_decode(code_on_fs, &insn);
	assert_true(insn.based);
	t3_insn_decode(code_mov32, &insn);
	assert_false(insn.narrow);
	assert_false(insn.based);
}

TEST("elements of vectors are found")
{
	static const struct {
		const uint8_t *code;
		uint8_t shift;
	} shifts[] = { { code_pextrb, 8 },     { code_pextrw, 48 }, { code_pextrd, 32 },
		       { code_extractps, 32 }, { code_pextrq, 0 },  { code_movhps, 0 } };
	struct insn insn;
	size_t i;

	for (i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		t3_insn_decode(shifts[i].code, &insn);
		assert_int_equal(insn.shift, shifts[i].shift);
	}
}

/* An instruction may be the last one of a mapping. */
TEST("no byte beyond is read")
{
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct insn insn;
	size_t i, length;

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	for (i = 0; i < ROW_COUNT; i++) {
		length = (size_t)(rows[i].end - rows[i].code);
		memcpy(pages + 4096 - length, rows[i].code, length);
		t3_insn_decode(pages + 4096 - length, &insn);
		check_row(&rows[i], &insn);
	}
	munmap(pages, 8192);
}

#else

int main(void)
{
	return 77; /* the decoder knows x86-64 only */
}

#endif

#!/bin/bash
# SPDX-License-Identifier: MIT
# QEMU 7.2 of Debian 12 (qemu-system-x86=1:7.2+dfsg-7+deb12u18+b3): a guest's 16550 on a chardev
# stdio loses bytes when standard input is a pipe that has ended, and standard output is a pipe
# that is full for a moment. The serial port then waits until the output can be written or hangs
# up. The chardev watches its input for a hang-up as well, so this wait is over at once. After four
# retries the port drops the byte. The chardev's logfile= has such a byte once for each try.
#
# Seen, of a boot sector that prints 8000 bytes to a pipe of 4096, which is read when QEMU has ended
# or does nothing more:
#     input open:         QEMU waits; 8000 bytes arrive; the log repeats some
#     input ended:        QEMU ends; 4096 bytes arrive; the log has the others five times each
#     input /dev/null:    QEMU waits; 8000 bytes arrive; the log repeats some
# Neither QEMU nor the guest reports an error. QEMU 10.0.13 of Debian 13 does the same, by
# fd_chr_add_watch() and serial_xmit() with its MAX_XMIT_RETRY. No report of it was found on GitHub
# and public web pages; QEMU's own tracker was not searched.
#
# The packages and all that they need are unpacked below a temporary folder, by the sources of this
# machine's apt, which must have Debian 12's. They take 41 MB. It needs as, ld and perl, and no
# root.
set -euo pipefail
shopt -s inherit_errexit

VERSION=1:7.2+dfsg-7+deb12u18+b3
PAGE=4096
F_SETPIPE_SZ=1031
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

mkdir -p "$place"/{apt/partial,root}
: >"$place/status"
apt-get -qq -y -o Dir::State::status="$place/status" -o Dir::Cache::archives="$place/apt" \
	-o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" --download-only \
	--no-install-recommends install "qemu-system-x86=$VERSION" seabios=1.16.2-1 >/dev/null
for package in "$place"/apt/*.deb; do
	case ${package##*/} in
	libc6_* | libgcc-s1_* | libstdc++6_*) ;;
	*) dpkg -x "$package" "$place/root" ;;
	esac
done

# Each byte is sent when the port's FIFO is empty. When the last one has left the port, the sector
# ends QEMU with status 43.
cat >"$place/boot.s" <<'S'
	.code16
	xorw %ax, %ax
	movw %ax, %ds
	cld
	movw $0x3fa, %dx	# FCR: use the FIFO
	movb $1, %al
	outb %al, %dx
	movw $1000, %cx
line:	movw $text, %si
	movb $8, %bl
byte:	movw $0x3fd, %dx	# LSR: THRE
1:	inb %dx, %al
	testb $0x20, %al
	jz 1b
	movw $0x3f8, %dx
	lodsb
	outb %al, %dx
	decb %bl
	jnz byte
	movw $text + 6, %di
2:	incb (%di)
	cmpb $'9', (%di)
	jbe 3f
	movb $'0', (%di)
	decw %di
	jmp 2b
3:	loop line
	movw $0x3fd, %dx	# LSR: TEMT
4:	inb %dx, %al
	testb $0x40, %al
	jz 4b
	movb $21, %al		# isa-debug-exit: 2 * 21 + 1
	outb %al, $0xf4
5:	hlt
	jmp 5b
text:	.ascii "0000000\n"
	.org 510
	.word 0xaa55
S
as --32 -o "$place/boot.o" "$place/boot.s"
ld -m elf_i386 --oformat binary -Ttext 0x7c00 -e 0x7c00 -o "$place/boot" "$place/boot.o"
seq -f %07g 0 999 >"$place/text"

root=$place/root
libs=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
qemu=(env LD_LIBRARY_PATH="$libs" "$root/usr/bin/qemu-system-x86_64")

size() {
	stat -c %s "$place/$1"
}

# settle PID: return when the pipe is full and the log does not grow for 2 seconds, or QEMU has
# ended.
settle() {
	local before=0

	while kill -0 "$1" 2>/dev/null && { [ "$before" -le "$PAGE" ] ||
		[ "$before" -ne "$(size log)" ]; }; do
		before=$(size log)
		sleep 2
	done
}

# repeats ARRIVED: what the log has more than the text.
repeats() {
	if tail -c "+$(($1 + 1))" "$place/text" | perl -0777 -pe 's/(.)/$1 x 5/gse' |
		cat "$place/arrived" - | cmp -s - "$place/log"; then
		echo "the log has the others five times each"
	elif [ "$(size log)" -gt "$(size text)" ]; then
		echo "the log repeats some"
	else
		echo "the log has $(size log) bytes"
	fi
}

# run: QEMU with the standard input of this function. Prints what became of the bytes.
run() {
	local keep reader pid arrived does=waits status=0

	rm -f "$place"/{output,log}
	mkfifo "$place/output"
	: >"$place/log"
	exec {keep}<>"$place/output"
	exec {reader}<"$place/output"
	perl -e 'fcntl(STDOUT, 0 + shift, 0 + shift) or die $!' "$F_SETPIPE_SZ" "$PAGE" >&"$keep"
	timeout 120 "${qemu[@]}" -nodefaults -no-user-config -display none -accel tcg -m 16 \
		-L "$root/usr/share/seabios" -L "$root/usr/share/qemu" \
		-drive "format=raw,file=$place/boot" \
		-chardev "stdio,id=com1,signal=off,logfile=$place/log" -serial chardev:com1 \
		-device isa-debug-exit,iobase=0xf4,iosize=1 \
		<&0 >"$place/output" {keep}>&- {reader}<&- &
	pid=$!
	settle "$pid"
	kill -0 "$pid" 2>/dev/null || does=ends
	exec {keep}>&-
	cat <&"$reader" >"$place/arrived"
	exec {reader}<&-
	wait "$pid" || status=$?
	arrived=$(size arrived)
	[ "$status" -eq 43 ] || does+=" with status $status"
	head -c "$arrived" "$place/text" | cmp - "$place/arrived"
	echo "QEMU $does; $arrived bytes arrive; $(repeats "$arrived")"
}

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

"${qemu[@]}" --version | sed -n 1p
whole="QEMU waits; 8000 bytes arrive; the log repeats some"
mkfifo "$place/input"
exec {open}<>"$place/input"
expect "input open" "$whole" "$(run <&"$open")"
expect "input ended" \
	"QEMU ends; 4096 bytes arrive; the log has the others five times each" "$(: | run)"
expect "input /dev/null" "$whole" "$(run </dev/null)"

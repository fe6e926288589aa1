// SPDX-License-Identifier: MIT
/* MSI-X by eventfd. */
#include <errno.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run.h"

/* The time after which a test takes an interrupt for not sent. */
#define GRACE_MS 10

/* count = 0 removes all vectors. VFIO resizes only from there. */
static int set_vectors(struct conf_device *d, unsigned count)
{
	struct {
		struct vfio_irq_set head;
		int32_t fds[T3_MAX_VECTORS];
	} set = { .head = { .index = VFIO_PCI_MSIX_IRQ_INDEX, .count = count } };

	set.head.argsz = (uint32_t)(sizeof(set.head) + count * sizeof(set.fds[0]));
	set.head.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
			 (count ? VFIO_IRQ_SET_DATA_EVENTFD : VFIO_IRQ_SET_DATA_NONE);
	memcpy(set.fds, d->vector, count * sizeof(set.fds[0]));
	d->vectors = count;
	return ioctl(d->fd, VFIO_DEVICE_SET_IRQS, &set);
}

int conf_irq_open(struct conf_device *d)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = VFIO_PCI_MSIX_IRQ_INDEX };

	if (ioctl(d->fd, VFIO_DEVICE_GET_IRQ_INFO, &info) < 0 || info.count < T3_MAX_VECTORS) {
		fprintf(stderr, "t3-conformance: %s: %u MSI-X vectors, wanted %u\n", d->bdf,
			info.count, T3_MAX_VECTORS);
		return -1;
	}
	for (unsigned i = 0; i < T3_MAX_VECTORS; i++) {
		d->vector[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (d->vector[i] < 0)
			return -1;
	}
	if (set_vectors(d, T3_MAX_VECTORS) < 0) {
		fprintf(stderr, "t3-conformance: %s: VFIO_DEVICE_SET_IRQS: %s\n", d->bdf,
			strerror(errno));
		return -1;
	}
	return 0;
}

void conf_irq_close(struct conf_device *d)
{
	set_vectors(d, 0);
}

void conf_vectors(struct conf *c, struct conf_device *d, unsigned count)
{
	CHECK(c, set_vectors(d, 0) >= 0 && set_vectors(d, count) >= 0, "VFIO_DEVICE_SET_IRQS: %s",
	      strerror(errno));
}

static uint64_t interrupts(struct conf_device *d, unsigned vector, int milliseconds)
{
	struct pollfd poll_one = { .fd = d->vector[vector], .events = POLLIN };
	uint64_t count;

	if (poll(&poll_one, 1, milliseconds) <= 0 ||
	    read(d->vector[vector], &count, sizeof(count)) != (ssize_t)sizeof(count))
		return 0;
	return count;
}

uint64_t conf_interrupts(struct conf *c, struct conf_device *d, unsigned vector)
{
	return interrupts(d, vector, (int)(c->timeout * 1000));
}

uint64_t conf_interrupts_now(struct conf *c, struct conf_device *d, unsigned vector)
{
	(void)c;
	usleep(GRACE_MS * 1000);
	return interrupts(d, vector, 0);
}

void conf_irq_drain(struct conf_device *d)
{
	if (d->late)
		usleep(GRACE_MS * 1000);
	d->late = false;
	for (unsigned i = 0; i < T3_MAX_VECTORS; i++)
		interrupts(d, i, 0);
}

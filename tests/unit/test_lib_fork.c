// SPDX-License-Identifier: MIT
/* libt3: a forked child ends what is its own of a handle, and nothing of its parent's. */
#include "test_lib_kernel.h"

#include <pthread.h>
#include <sys/wait.h>

#include "t3_coll.h"
#include "t3_producer.h"
#include "test.h"

#define LIMIT_S 60

static struct t3_queue *queue;
static struct t3_producer *producer;

/* Run it in a child, which ends with the number that it returns. */
static int in_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(LIMIT_S);
		_exit(body());
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool is_mapped(const volatile void *page)
{
	return !msync((void *)((uintptr_t)page & ~4095ul), 1, MS_ASYNC);
}

static int destroy_all(void)
{
	const volatile void *aperture = t3_space_aperture(space);
	int fd = t3_device_fd(dev);
	void *memory;

	t3_buffer_map(buffer, &memory);
	kernel.calls = 0;
	t3_producer_destroy(producer);
	t3_queue_destroy(queue);
	if (t3_space_destroy(space))
		return 100;
	t3_buffer_destroy(buffer);
	t3_device_close(dev);
	if (is_mapped(aperture) || is_mapped(memory) || fcntl(fd, F_GETFD) >= 0)
		return 101;
	return (int)kernel.calls;
}

/* A child that destroys and forks again: the grandchild ends nothing either. */
static int destroy_in_a_grandchild(void)
{
	return in_child(destroy_all);
}

/* A child ends the objects that it made. */
static int destroy_own(void)
{
	struct t3_buffer *own;
	struct t3_space *more;

	if (t3_buffer_create(dev, 4096, &own) || t3_space_create(dev, own, 1, &more))
		return 102;
	kernel.calls = 0;
	t3_space_destroy(more);
	t3_buffer_destroy(own);
	return (int)kernel.calls;
}

T3_TEST("a child ends no handle")
{
	struct t3_producer_desc arg = { .segment = &desc, .path = T3_PATH_DOORBELL };
	void *memory;

	assert_int_equal(t3_buffer_map(buffer, &memory), 0);
	assert_int_equal(t3_queue_create(dev, 0, &queue), 0);
	assert_int_equal(t3_local_map(space, &desc), 0);
	assert_int_equal(t3_producer_create(dev, space, &arg, &producer), 0);
	assert_int_equal(in_child(destroy_all), 0);
	assert_int_equal(in_child(destroy_in_a_grandchild), 0);
	assert_int_equal(in_child(destroy_own), 2);
	/* The parent still has all of it. */
	assert_true(is_mapped(t3_space_aperture(space)) && is_mapped(memory));
	kernel.calls = 0;
	t3_producer_destroy(producer);
	t3_queue_destroy(queue);
	assert_int_equal(kernel.calls, 3); /* staging, its buffer, the queue */
}

/* The same with the checker, whose lock another thread takes all the time. */
static _Atomic bool storing;

static void *store_always(void *arg)
{
	volatile uint32_t *to = t3_space_aperture(space);

	(void)arg;
	while (storing)
		t3_store32(to, 1);
	return NULL;
}

static int destroy_checked(void)
{
	kernel.calls = 0;
	t3_space_destroy(space);
	return (int)kernel.calls;
}

static int check_and_fork(void)
{
	pthread_t thread;
	int i, calls = 0;

	setenv("T3_DEBUG", "check,continue", 1);
	start();
	close(STDERR_FILENO);
	storing = true;
	if (pthread_create(&thread, NULL, store_always, NULL))
		return 103;
	for (i = 0; i < 50 && !calls; i++)
		calls = in_child(destroy_checked);
	storing = false;
	pthread_join(thread, NULL);
	return calls;
}

TEST("a child of a checked program ends nothing")
{
	assert_int_equal(in_child(check_and_fork), 0);
}

// SPDX-License-Identifier: MIT
/* libt3: the device of a rank, on a machine with two fabrics. */
#include "test_lib_fabric.h"
#include "test.h"

#define OTHER 0xfab2ull

/* Replaces libpci's result: ranks 0 and 1 of a fabric, and rank 0 of another one. */
static struct t3_device_entry entry[3];
static struct t3_device *dev[3];

struct t3_device_list {
	int unused;
};

int t3_device_list(struct t3_device_list **list)
{
	static struct t3_device_list all;

	*list = &all;
	return 0;
}

void t3_device_list_free(struct t3_device_list *list)
{
	(void)list;
}

size_t t3_device_list_count(const struct t3_device_list *list)
{
	(void)list;
	return 3;
}

const struct t3_device_entry *t3_device_list_get(const struct t3_device_list *list, size_t index)
{
	(void)list;
	return index < 3 ? &entry[index] : NULL;
}

static int start(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		dev[i] = device_new(i < 2 ? FABRIC : OTHER, i % 2);
		snprintf(entry[i].node, sizeof(entry[i].node), "/proc/self/fd/%d",
			 t3_device_fd(dev[i]));
	}
	unsetenv("T3_FABRIC");
	return 0;
}

static int stop(void)
{
	int i;

	for (i = 0; i < 3; i++)
		t3_device_close(dev[i]);
	return 0;
}

static void opens(uint64_t fabric, uint32_t rank, uint64_t is)
{
	struct drm_t3_device_info info;
	struct t3_device *got;

	assert_int_equal(t3_device_open_rank(fabric, rank, &got), 0);
	assert_int_equal(t3_device_info(got, &info), 0);
	assert_int_equal(info.fabric_id, is);
	assert_int_equal(info.rank, rank);
	t3_device_close(got);
}

static void refused(uint64_t fabric, uint32_t rank, int ret)
{
	unsigned int fds = count_fds();
	struct t3_device *got = NULL;

	assert_int_equal(t3_device_open_rank(fabric, rank, &got), ret);
	assert_null(got);
	assert_int_equal(count_fds(), fds);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("the caller names the fabric")
{
	refused(0, 0, -ENOTUNIQ);
	opens(0, 1, FABRIC);
	opens(FABRIC, 0, FABRIC);
	opens(OTHER, 0, OTHER);
	refused(OTHER, 1, -ENODEV);
}

TEST("the environment names the default fabric")
{
	setenv("T3_FABRIC", "0xfab2", 1);
	opens(0, 0, OTHER);
	refused(0, 1, -ENODEV);
	opens(FABRIC, 0, FABRIC);
	setenv("T3_FABRIC", "0xfab71cull", 1);
	refused(0, 0, -EINVAL);
	setenv("T3_FABRIC", "0xfab71c", 1);
	opens(0, 0, FABRIC);
	setenv("T3_FABRIC", "0x5", 1);
	refused(0, 0, -ENODEV);
}

/* Others' devices are looked for all the same. Without a match there is the reason. */
TEST("a node that cannot be opened is passed over")
{
	strcpy(entry[0].node, "/nowhere");
	opens(0, 0, OTHER);
	opens(FABRIC, 1, FABRIC);
	refused(FABRIC, 0, -ENOENT);
}

TEST("another text is no fabric")
{
	static const char *const bad[] = {
		"",	"0",	"0x",	"0x0",	 "64178",
		"-0x1", " 0x1", "0x1 ", "0xg",	 "0x10000000000000000",
		"0x-1", "0x+1", "0x 1", "0x0x1",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv("T3_FABRIC", bad[i], 1);
		refused(0, 1, -EINVAL);
		opens(FABRIC, 1, FABRIC);
	}
	setenv("T3_FABRIC", "0xFFFFFFFFFFFFFFFF", 1);
	refused(0, 1, -ENODEV);
}

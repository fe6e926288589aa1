// SPDX-License-Identifier: MIT
/* libt3: the rendezvous over TCP with what a name server may say. Here it is this program. */
#include "test_lib_rendezvous.h"
#include "test.h"
#include <netdb.h>

#define NAMES	  4u
#define ADDRESSES 5u /* one more than are used */

/* What a host's name resolves to. */
struct name {
	const char *host;
	const char *address[ADDRESSES];
	int error; /* or 0 */
	int again; /* so many times EAI_AGAIN comes first; below 0: always */
};

static struct name name[NAMES];

static struct addrinfo *resolved(const char *text, const char *service, struct addrinfo *next)
{
	struct {
		struct addrinfo info;
		struct sockaddr_in at;
	} *one = calloc(1, sizeof(*one));

	assert_non_null(one);
	one->at.sin_family = AF_INET;
	one->at.sin_port = htons((uint16_t)atoi(service));
	assert_int_equal(inet_pton(AF_INET, text, &one->at.sin_addr), 1);
	one->info.ai_family = AF_INET;
	one->info.ai_addr = (struct sockaddr *)&one->at;
	one->info.ai_addrlen = sizeof(one->at);
	one->info.ai_next = next;
	return &one->info;
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **at)
{
	struct name *n = name;
	uint32_t i;

	assert_int_equal(hints->ai_socktype, SOCK_STREAM);
	assert_int_equal(hints->ai_flags, AI_NUMERICSERV);
	while (!n->host || strcmp(n->host, host) != 0)
		n++;
	if (n->again) {
		n->again -= n->again > 0;
		return EAI_AGAIN;
	}
	if (n->error)
		return n->error;
	for (*at = NULL, i = ADDRESSES; i--;)
		if (n->address[i])
			*at = resolved(n->address[i], service, *at);
	return 0;
}

void freeaddrinfo(struct addrinfo *at)
{
	struct addrinfo *next;

	for (; at; at = next) {
		next = at->ai_next;
		free(at);
	}
}

static void set_names(struct name zero, struct name one)
{
	uint32_t i;

	name[0] = zero;
	name[1] = one;
	for (i = 0; i < 2; i++) {
		set(i, 2, LONG);
		member[i].r.host = name[i].host;
	}
}

static void meet(void)
{
	begin(0);
	begin(1);
	end_good(0);
	end_good(1);
}

static void miss(void)
{
	member[0].r.deadline_ns = member[1].r.deadline_ns = in_ms(200);
	begin(0);
	begin(1);
	end_with_port(0, -ETIMEDOUT, "rank 1 of 2 did not come to zero port %s in time");
	end_with_port(1, -ETIMEDOUT,
		      "rank 0 did not answer at one port %s in time: Connection refused");
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("a name server may be late")
{
	set_names((struct name){ .host = "zero", .address = { "127.0.0.1" }, .again = 5 },
		  (struct name){ .host = "one", .address = { "127.0.0.1" }, .again = 2 });
	meet();
}

TEST("a name server may be down")
{
	set_names((struct name){ .host = "zero", .again = -1 },
		  (struct name){ .host = "one", .again = -1 });
	member[0].r.deadline_ns = member[1].r.deadline_ns = in_ms(100);
	begin(0);
	begin(1);
	end(0, -ETIMEDOUT,
	    "MASTER_ADDR is 'zero', which has no address: Temporary failure in name resolution");
	end(1, -ETIMEDOUT,
	    "MASTER_ADDR is 'one', which has no address: Temporary failure in name resolution");
}

TEST("a name may be unknown")
{
	set_names((struct name){ .host = "zero", .error = EAI_NONAME },
		  (struct name){ .host = "one", .error = EAI_MEMORY });
	begin(0);
	begin(1);
	end(0, -EADDRNOTAVAIL,
	    "MASTER_ADDR is 'zero', which has no address: Name or service not known");
	end(1, -ENOMEM, "MASTER_ADDR: out of memory");
}

TEST("an address may come twice")
{
	set_names((struct name){ .host = "zero", .address = { "127.0.0.1", "127.0.0.1" } },
		  (struct name){ .host = "one", .address = { "127.0.0.1", "127.0.0.1" } });
	meet();
}

/* Also for who looks for rank 0. Nobody listens at 127.0.0.8 and 9. */
TEST("an address that comes again counts once")
{
	struct name one = {
		.host = "one",
		.address = { "127.0.0.9", "127.0.0.8", "127.0.0.8", "127.0.0.8", "127.0.0.1" },
	};

	set_names((struct name){ .host = "zero", .address = { "127.0.0.1" } }, one);
	meet();
}

/* 192.0.2.1 is no machine's. Nobody listens at 127.0.0.9. */
TEST("one good address is enough")
{
	set_names((struct name){ .host = "zero", .address = { "192.0.2.1", "127.0.0.1" } },
		  (struct name){ .host = "one", .address = { "127.0.0.9", "127.0.0.1" } });
	meet();
}

TEST("rank 0 listens at all addresses of the name")
{
	set_names((struct name){ .host = "zero", .address = { "127.0.0.8", "127.0.0.1" } },
		  (struct name){ .host = "one", .address = { "127.0.0.1" } });
	meet();
	name[1].address[0] = "127.0.0.8";
	meet();
}

/* Nobody listens at 127.0.0.6 to 9. */
TEST("four addresses of a name are tried")
{
	struct name zero = { .host = "zero", .address = { "127.0.0.1" } };
	struct name one = {
		.host = "one",
		.address = { "127.0.0.6", "127.0.0.7", "127.0.0.8", "127.0.0.1" },
	};

	set_names(zero, one);
	meet();
	one.address[3] = "127.0.0.9";
	one.address[4] = "127.0.0.1";
	set_names(zero, one);
	miss();
}

TEST("rank 0 listens at four addresses of the name")
{
	set_names((struct name){ .host = "zero",
				 .address = { "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8",
					      "127.0.0.1" } },
		  (struct name){ .host = "one", .address = { "127.0.0.8" } });
	meet();
	name[1].address[0] = "127.0.0.1";
	miss();
}

/* Else ranks that try that address first would meet another program. */
TEST("no address of the name may be taken")
{
	struct sockaddr_in at = address();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	set_names((struct name){ .host = "zero", .address = { "127.0.0.8", "127.0.0.1" } },
		  (struct name){ .host = "one" });
	begin(0);
	end_with_port(0, -EADDRINUSE,
		      "port %s of zero is taken by another program or rank 0: choose another "
		      "MASTER_PORT");
	close(fd);
}

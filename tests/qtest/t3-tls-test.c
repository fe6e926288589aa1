/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: nodes that prove to each other who they are, on TCP. SPEC.md section 16.5. The tests make
 * their certificates.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "t3-test.h"

/* Folders with an authority each, and the certificates that it has signed. */
struct papers {
	struct t3_test_place place;
	char *ours, *others;
};

/* ------------------------------------------------------------- certificates */

static void run_openssl(const char *folder, const char *arguments)
{
	g_autofree char *command = g_strdup_printf("openssl req -config openssl.cnf -x509 -days 2 "
						   "-nodes -newkey ec -pkeyopt "
						   "ec_paramgen_curve:P-256 %s",
						   arguments);
	g_auto(GStrv) words = g_strsplit(command, " ", -1);
	g_autofree char *said = NULL;
	int status;

	g_assert_true(g_spawn_sync(folder, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   &said, &status, NULL));
	if (status)
		g_error("openssl in %s: %s", folder, said);
}

static void make_leaf(const char *folder, const char *name)
{
	g_autofree char *arguments = g_strdup_printf(
		"-CA ca-cert.pem -CAkey ca-key.pem -keyout %s-key.pem -out %s-cert.pem "
		"-subj /CN=%s -addext basicConstraints=CA:FALSE -addext keyUsage=digitalSignature "
		"-addext extendedKeyUsage=%sAuth -addext subjectAltName=IP:127.0.0.1",
		name, name, name, name);

	run_openssl(folder, arguments);
}

static char *make_folder(const struct t3_test_place *place, const char *name)
{
	char *folder = g_build_filename(place->folder, name, NULL);
	g_autofree char *config = g_build_filename(folder, "openssl.cnf", NULL);

	g_assert_cmpint(mkdir(folder, 0700), ==, 0);
	g_assert_true(
		g_file_set_contents(config, "[req]\ndistinguished_name = dn\n[dn]\n", -1, NULL));
	run_openssl(folder, "-keyout ca-key.pem -out ca-cert.pem -subj /CN=authority -addext "
			    "basicConstraints=critical,CA:TRUE -addext "
			    "keyUsage=critical,keyCertSign");
	make_leaf(folder, "server");
	make_leaf(folder, "client");
	return folder;
}

static void drop_folder(char *folder)
{
	GDir *dir = g_dir_open(folder, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);

		unlink(path);
	}
	g_dir_close(dir);
	rmdir(folder);
	g_free(folder);
}

/* False: this machine cannot make certificates, or QEMU has no TLS. */
static bool papers_new(struct papers *papers)
{
	g_autofree char *program = g_find_program_in_path("openssl");

	if (!program) {
		g_test_skip("openssl is missing");
		return false;
	}
	*papers = (struct papers){ .place = place_new() };
	place_on_tcp(&papers->place);
	papers->ours = make_folder(&papers->place, "ours");
	papers->others = make_folder(&papers->place, "others");
	return true;
}

static void papers_free(struct papers *papers)
{
	drop_folder(papers->ours);
	drop_folder(papers->others);
	place_free(&papers->place);
}

/* The node has the certificates of that folder; NULL: no TLS. The object may be of either endpoint. */
static struct t3_vm *start(struct papers *papers, unsigned int node, const char *folder,
			   const char *endpoint)
{
	struct t3_test_place place = papers->place;
	g_autofree char *objects = NULL;

	if (folder) {
		objects = g_strdup_printf("-object tls-creds-x509,id=tls,dir=%s,endpoint=%s",
					  folder, endpoint);
		place.more = "\"tls-creds\": \"tls\", ";
		place.objects = objects;
	}
	return node_start(&place, node);
}

/* -------------------------------------------------------------------- tests */

static int64_t connections(struct t3_vm *vm)
{
	QDict *peer = node_peer(vm);
	int64_t count = qdict_get_int(peer, "connections");

	if (count)
		g_assert_cmpstr(qdict_get_str(peer, "transport"), ==, "tls");
	qobject_unref(peer);
	return count;
}

static void run_pair(struct t3_vm *a, struct t3_vm *b)
{
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 1, 4096);

	pair_complete(&pair, 4096);
	g_assert_cmpint(connections(a), ==, 1);
	g_assert_cmpint(connections(b), ==, 1);
}

/* Also where an object is of the other endpoint: the fabric makes the one that it needs. */
static void test_verified(void)
{
	struct papers papers;
	struct t3_vm *a, *b;

	if (!papers_new(&papers))
		return;
	a = start(&papers, 0, papers.ours, "client");
	b = start(&papers, 1, papers.ours, "server");
	run_pair(a, b);
	vm_end(b);
	vm_end(a);
	papers_free(&papers);
}

/* Without TLS, and with certificates of another authority. The node waits for the right one. */
static void test_refused(void)
{
	struct papers papers;
	struct t3_vm *a, *b;

	if (!papers_new(&papers))
		return;
	a = start(&papers, 0, papers.ours, "server");
	b = start(&papers, 1, NULL, NULL);
	g_usleep(400000);
	g_assert_cmpint(connections(a), ==, 0);
	vm_end(b);
	b = start(&papers, 1, papers.others, "client");
	g_usleep(400000);
	g_assert_cmpint(connections(a), ==, 0);
	g_assert_cmpint(connections(b), ==, 0);
	vm_end(b);
	b = start(&papers, 1, papers.ours, "client");
	run_pair(a, b);
	vm_end(b);
	vm_end(a);
	papers_free(&papers);
}

/* More than are heard at a time, before their handshake, within it, or with nonsense. */
static void test_strangers(void)
{
	static const uint8_t record[] = {
		0x16, 3, 1, 1, 0, 1
	}; /* the first bytes of a ClientHello */
	struct papers papers;
	struct t3_vm *a, *b;
	struct sockaddr_in at = { .sin_family = AF_INET };
	unsigned int i, port;
	int fd[150];

	if (!papers_new(&papers))
		return;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	g_assert_cmpint(sscanf(strstr(papers.place.address, "port\": \""), "port\": \"%u", &port),
			==, 1);
	at.sin_port = htons(port);
	a = start(&papers, 0, papers.ours, "server");
	for (i = 0; i < G_N_ELEMENTS(fd); i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		g_assert_cmpint(connect(fd[i], (struct sockaddr *)&at, sizeof(at)), ==, 0);
		if (i % 3)
			send(fd[i], record, i % 3 * 3, MSG_NOSIGNAL);
	}
	b = start(&papers, 1, papers.ours, "client");
	run_pair(a, b);
	for (i = 0; i < G_N_ELEMENTS(fd); i++)
		close(fd[i]);
	vm_end(b);
	vm_end(a);
	papers_free(&papers);
}

void add_tls_tests(void)
{
	qtest_add_func("/t3/nodes/tls/verified", test_verified);
	qtest_add_func("/t3/nodes/tls/refused", test_refused);
	qtest_add_func("/t3/nodes/tls/strangers", test_strangers);
}

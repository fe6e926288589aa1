// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* memmem(), RTLD_DEFAULT */
/*
 * t3 mpi: whether Open MPI has the component coll t3 in a process like this one, and if not, why.
 * The command asks Open MPI itself, by MPI_T. t3 is not linked with Open MPI, which may not be installed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "common/cmdline.h"
#include "common/message.h"

/* Open MPI 4 and 5 have this binary interface. Its handles are pointers. */
#define LIBRARY	       "libmpi.so.40"
#define FILE_NAME      "mca_coll_t3.so"
#define PATH_VARIABLE  "OMPI_MCA_mca_base_component_path"
#define PMIX_VARIABLE  "PMIX_MCA_mca_base_component_path"
#define BUILT_FOR      "coll_t3 for " /* in the component, before the version */
#define VALUE_SIZE     2048	      /* of Open MPI's strings */
#define THREAD_SINGLE  0
#define TUNED_PRIORITY 30

static struct {
	int (*init_thread)(int required, int *provided);
	int (*finalize)(void);
	int (*get_index)(const char *name, int *index);
	int (*handle_alloc)(int index, void *object, void **handle, int *count);
	int (*read)(void *handle, void *value);
	int (*handle_free)(void **handle);
	int (*version)(char *text, int *length);
} mpi;

struct state {
	char version[256];	    /* Open MPI's: "Open MPI v5.0.7" */
	char path[VALUE_SIZE];	    /* the folders where it looks for components */
	char usual[VALUE_SIZE];	    /* where it looks when nobody says */
	char selected[VALUE_SIZE];  /* the parameter coll, such as "^t3" */
	char file[VALUE_SIZE + 64]; /* the component in those folders, or "" */
	bool registered;	    /* Open MPI knows the component's parameters */
	int priority;
	char why[3 * VALUE_SIZE]; /* the component is not used, or "" */
};

/* Keep why the component is not used. Returns EXIT_FAIL. */
__attribute__((format(printf, 2, 3))) static int refuse(struct state *state, const char *format,
							...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(state->why, sizeof(state->why), format, values);
	va_end(values);
	return EXIT_FAIL;
}

static int load_library(struct state *state)
{
	static const struct {
		const char *name;
		void *place;
	} functions[] = {
		{ "MPI_T_init_thread", &mpi.init_thread },
		{ "MPI_T_finalize", &mpi.finalize },
		{ "MPI_T_cvar_get_index", &mpi.get_index },
		{ "MPI_T_cvar_handle_alloc", &mpi.handle_alloc },
		{ "MPI_T_cvar_read", &mpi.read },
		{ "MPI_T_cvar_handle_free", &mpi.handle_free },
		{ "MPI_Get_library_version", &mpi.version },
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL), *function;
	size_t i;

	if (!library)
		return refuse(state, "there is no Open MPI here that can be used: %s", dlerror());
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		function = dlsym(library, functions[i].name);
		if (!function)
			return refuse(state, LIBRARY " has no %s", functions[i].name);
		memcpy(functions[i].place, &function, sizeof(function));
	}
	return EXIT_OK;
}

/* Read a parameter of Open MPI. False: there is none of that name, or it is longer. */
static bool read_parameter(const char *name, void *value, int count)
{
	int index, found = 0;
	void *handle;
	bool done;

	if (mpi.get_index(name, &index) || mpi.handle_alloc(index, NULL, &handle, &found))
		return false;
	done = found <= count && !mpi.read(handle, value);
	mpi.handle_free(&handle);
	return done;
}

static bool read_text(const char *name, char text[VALUE_SIZE])
{
	bool done = read_parameter(name, text, VALUE_SIZE);

	text[done ? VALUE_SIZE - 1 : 0] = '\0';
	return done;
}

/* Ask another process, as the environment of this one may say another path. */
static void read_usual_path(char text[VALUE_SIZE])
{
	int pipes[2], provided;
	ssize_t got;
	pid_t child;

	*text = '\0';
	if (pipe2(pipes, O_CLOEXEC))
		return;
	child = fork();
	if (!child) {
		unsetenv(PATH_VARIABLE);
		if (mpi.init_thread(THREAD_SINGLE, &provided) ||
		    !read_text("mca_base_component_path", text) ||
		    write(pipes[1], text, strlen(text)) < 0)
			_exit(1);
		_exit(0);
	}
	close(pipes[1]);
	got = child < 0 ? 0 : read(pipes[0], text, VALUE_SIZE - 1);
	text[got > 0 ? got : 0] = '\0';
	close(pipes[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Find the component in the folders. Open MPI takes the first. */
static bool find_file(const char *path, char *file, size_t size)
{
	const char *end;
	int length;

	for (; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		length = (int)(end - path);
		snprintf(file, size, "%.*s%s" FILE_NAME, length, path, length ? "/" : "");
		if (length && !access(file, F_OK))
			return true;
	}
	*file = '\0';
	return false;
}

/* Open MPI has names for its two usual folders. */
static void expand(const char *path, const char *usual, char full[VALUE_SIZE])
{
	const char *user = strrchr(usual, ':'), *end, *word;
	size_t used = 0, length;

	for (; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		word = path;
		length = (size_t)(end - path);
		if (user && length == strlen("SYS_DEFAULT") &&
		    !strncmp(path, "SYS_DEFAULT", length)) {
			word = usual;
			length = (size_t)(user - usual);
		} else if (user && length == strlen("USER_DEFAULT") &&
			   !strncmp(path, "USER_DEFAULT", length)) {
			word = user + 1;
			length = strlen(word);
		}
		if (used + length + 2 > VALUE_SIZE)
			break;
		used += (size_t)snprintf(full + used, VALUE_SIZE - used, "%s%.*s", used ? ":" : "",
					 (int)length, word);
	}
	full[used] = '\0';
}

static int ask(struct state *state)
{
	char path[VALUE_SIZE];
	int provided, length;

	read_usual_path(state->usual);
	mpi.version(state->version, &length);
	state->version[strcspn(state->version, ",")] = '\0';
	if (mpi.init_thread(THREAD_SINGLE, &provided))
		return refuse(state, "%s does not start: MPI_T_init_thread() fails",
			      state->version);
	if (!read_text("mca_base_component_path", path))
		snprintf(path, sizeof(path), "%s", state->usual);
	read_text("coll", state->selected);
	state->registered = read_parameter("coll_t3_priority", &state->priority, 1);
	mpi.finalize();
	expand(path, state->usual, state->path);
	find_file(state->path, state->file, sizeof(state->file));
	return EXIT_OK;
}

/* The version of Open MPI that the file says it was built for, or "". */
static void read_built_for(const char *file, char *text, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	const char *data = MAP_FAILED, *found;
	struct stat state;

	*text = '\0';
	if (fd >= 0 && !fstat(fd, &state) && state.st_size > 0)
		data = mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (data == MAP_FAILED)
		return;
	found = memmem(data, (size_t)state.st_size, BUILT_FOR, strlen(BUILT_FOR));
	if (found) {
		found += strlen(BUILT_FOR);
		snprintf(text, size, "%.*s",
			 (int)strnlen(found, (size_t)(data + state.st_size - found)), found);
	}
	munmap((void *)data, (size_t)state.st_size);
}

/* Why Open MPI has not taken a file that is where it looks. Open MPI 5 stops at a wrong folder. */
static int explain_file(struct state *state)
{
	char folder[VALUE_SIZE];
	const char *path, *end;

	for (path = state->path; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
		if (!strncmp(state->file, folder, strlen(folder)) &&
		    state->file[strlen(folder)] == '/')
			break;
		if (access(folder, R_OK | X_OK))
			return refuse(state,
				      "%s is not found, because the folder %s comes before it in "
				      "Open MPI's path and cannot be read: %s",
				      state->file, folder, strerror(errno));
	}
	if (!dlopen(state->file, RTLD_NOW | RTLD_LOCAL))
		return refuse(state, "%s cannot be loaded: %s", state->file, dlerror());
	return refuse(state,
		      "%s does not take %s, which can be loaded: --mca "
		      "mca_base_component_show_load_errors "
		      "1 shows why",
		      state->version, state->file);
}

/* The folders that exist. PMIx, which also looks in them on other nodes, complains of others. */
static const char *existing(const char *path, char found[VALUE_SIZE])
{
	char folder[VALUE_SIZE];
	size_t used = 0;
	const char *end;

	for (*found = '\0'; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
		if (!access(folder, R_OK | X_OK) && used + strlen(folder) + 2 <= VALUE_SIZE)
			used += (size_t)snprintf(found + used, VALUE_SIZE - used, "%s%s",
						 used ? ":" : "", folder);
	}
	return found;
}

static int explain_path(struct state *state)
{
	bool by_launcher = strstr(state->path, "pmix");
	const char *cause = by_launcher ? "; mpirun of Open MPI 5 sets it to PMIx's folder where "
					  "the user has not set it"
					: "";
	char elsewhere[VALUE_SIZE + 64], usual[VALUE_SIZE], pmix[VALUE_SIZE + 64] = "";

	/* PMIx would take Open MPI's folders for its own, and complain of each file there. */
	if (by_launcher)
		snprintf(pmix, sizeof(pmix), PMIX_VARIABLE "=%s ", state->path);
	if (!getenv(PATH_VARIABLE) || !strcmp(state->path, state->usual))
		return refuse(state,
			      FILE_NAME " is in none of the folders where %s looks: %s. `make mpi` "
					"makes it",
			      state->version, state->path);
	existing(state->usual, usual);
	if (find_file(state->usual, elsewhere, sizeof(elsewhere)))
		return refuse(state,
			      "%s does not look where %s is. It looks in %s, because " PATH_VARIABLE
			      " says so%s. Before mpirun: export %s" PATH_VARIABLE "=%s",
			      state->version, elsewhere, state->path, cause, pmix, usual);
	return refuse(
		state,
		FILE_NAME
		" is in none of the folders where %s looks. It looks in %s, because " PATH_VARIABLE
		" says so%s. Before mpirun: export %s" PATH_VARIABLE
		"=DIR:%s, where DIR has the component",
		state->version, state->path, cause, pmix, usual);
}

/* Whether the parameter coll leaves t3 out: "^a,t3" names those that are not taken. */
static bool is_left_out(const char *selected)
{
	bool exclusive = *selected == '^', named = false;
	const char *end;

	if (!*selected)
		return false;
	for (selected += exclusive; *selected; selected = *end ? end + 1 : end) {
		end = strchrnul(selected, ',');
		named |= end - selected == 2 && !strncmp(selected, "t3", 2);
	}
	return named == exclusive;
}

static int judge(struct state *state)
{
	char wanted[64];

	if (is_left_out(state->selected))
		return refuse(state, "Open MPI's parameter coll is %s, which leaves t3 out",
			      state->selected);
	if (!state->registered)
		return *state->file ? explain_file(state) : explain_path(state);
	read_built_for(state->file, wanted, sizeof(wanted));
	if (*wanted && strncmp(state->version, wanted, strlen(wanted)))
		return refuse(state, "%s was built for %s and this is %s: build it again",
			      state->file, wanted, state->version);
	if (state->priority < 0)
		return refuse(state, "coll_t3_priority is %d, which turns the component off",
			      state->priority);
	return EXIT_OK;
}

static void print(const struct state *state)
{
	printf("%s has the component coll t3: %s\n", state->version, state->file);
	if (state->priority <= TUNED_PRIORITY)
		printf("its priority is %d: tuned, with %d, is asked first\n", state->priority,
		       TUNED_PRIORITY);
	puts("--mca coll_t3_verbose 1 says of each communicator whether T3 carries its messages");
}

static json_t *to_json(const struct state *state)
{
	json_t *object = json_pack("{s:s, s:o, s:o, s:b}", "open_mpi", state->version, "path",
				   json_from_name(state->path), "component",
				   *state->file ? json_from_name(state->file) : json_null(), "used",
				   !*state->why);

	if (state->registered)
		json_object_set_new(object, "priority", json_integer(state->priority));
	if (*state->why)
		json_object_set_new(object, "error", json_from_name(state->why));
	return object;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

int cmd_mpi(int argc, char **argv)
{
	static const struct argp_child children[] = { { &cmdline_json, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.children = children,
		.parser = parse,
		.doc = "Say whether Open MPI has the component coll t3, by which MPI programs use "
		       "T3, and if not, why. Run it as a program is run, `mpirun -n 1 t3 mpi`: a "
		       "launcher may change where Open MPI looks.",
	};
	struct cmd_common common = { 0 };
	struct state state = { 0 };
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &common);
	ret = load_library(&state);
	if (!ret)
		ret = ask(&state);
	if (!ret)
		ret = judge(&state);
	if (common.json && print_json(to_json(&state)))
		return EXIT_FAIL;
	if (ret)
		return complain(ret, "%s", state.why);
	if (!common.json)
		print(&state);
	return ret;
}

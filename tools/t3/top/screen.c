// SPDX-License-Identifier: MIT
/* t3 top on a terminal: a screen, with the keys of htop and nvtop. */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "top/top.h"

#define KEY_ESCAPE 27
#define NS_PER_MS  1000000u
#define MESSAGE	   "taking the first sample"

static const char help[] = " q Quit  Arrows Scroll  Sort: P busy M memory N pid  Space Pause ";

enum colors { PLAIN, GREEN, YELLOW, RED };

struct screen {
	const struct tool_devices *devices;
	struct top_sample older, newer; /* changes between them are shown; ns 0: none yet */
	char *text;			/* text of the samples; NULL: none yet */
	int first;			/* first line that is shown below the title */
	int lines;			/* lines below the title */
	enum top_order order;
	bool paused, ended;
};

/* ------------------------------------------------------------------- drawing */

/* A bar that is nearly full is red, as in nvtop. */
static void draw_bar(int y, int x, const char *bar)
{
	double percent = atof(bar + strcspn(bar, "0123456789"));
	short color = percent < 50 ? GREEN : percent < 80 ? YELLOW : RED;
	size_t filled = strspn(bar, "|");

	mvchgat(y, x, (int)filled, A_BOLD, color, NULL);
}

static void draw_line(int y, const char *line, int length)
{
	const char *bar = memchr(line, '[', (size_t)length);
	bool title = !strncmp(line, "dev ", 4) || !strncmp(line, "    pid ", 8);

	mvaddnstr(y, 0, line, length < COLS ? length : COLS);
	if (title)
		mvchgat(y, 0, -1, A_REVERSE, PLAIN, NULL);
	else if (bar)
		draw_bar(y, (int)(bar - line) + 1, bar + 1);
}

/* Line 0 is the title, which does not scroll. The terminal's last line shows the keys. */
static void draw_lines(struct screen *s)
{
	const char *line = s->text;
	int number, length, y;

	for (number = 0; *line; number++) {
		length = (int)strcspn(line, "\n");
		y = number ? number - s->first : 0;
		if (!number || (y > 0 && y < LINES - 1))
			draw_line(y, line, length);
		line += length + (line[length] == '\n');
	}
	s->lines = number - 1;
}

static int show(struct screen *s)
{
	size_t size;
	FILE *out;

	free(s->text);
	s->text = NULL;
	out = s->newer.counters.ns ? open_memstream(&s->text, &size) : NULL;
	if (out)
		top_print(out, s->devices, &s->older, &s->newer, s->order);
	if ((out && fclose(out)) || (!out && s->newer.counters.ns))
		return complain(EXIT_FAIL, "no memory for the screen");
	erase();
	if (s->text)
		draw_lines(s);
	else
		mvaddnstr(0, 0, MESSAGE, COLS);
	mvaddnstr(LINES - 1, 0, help, COLS - 1);
	if (s->paused)
		addnstr("PAUSED", COLS > (int)sizeof(help) + 6 ? 6 : 0);
	mvchgat(LINES - 1, 0, -1, A_REVERSE, PLAIN, NULL);
	refresh();
	return EXIT_OK;
}

/* ---------------------------------------------------------------------- keys */

static void scroll_by(struct screen *s, int lines)
{
	int most = s->lines - (LINES - 2);

	s->first += lines;
	if (s->first > most)
		s->first = most;
	if (s->first < 0)
		s->first = 0;
}

static void obey(struct screen *s, int key)
{
	switch (key) {
	case KEY_UP:
		return scroll_by(s, -1);
	case KEY_DOWN:
		return scroll_by(s, 1);
	case KEY_PPAGE:
		return scroll_by(s, 2 - LINES);
	case KEY_NPAGE:
		return scroll_by(s, LINES - 2);
	case KEY_HOME:
		return scroll_by(s, -s->lines);
	case KEY_END:
		return scroll_by(s, s->lines);
	case 'q':
	case 'Q':
	case KEY_F(10):
	case KEY_ESCAPE:
		s->ended = true;
		return;
	case ' ':
	case 'Z':
		s->paused = !s->paused;
		return;
	case 'P':
		s->order = TOP_BY_BUSY;
		return;
	case 'M':
		s->order = TOP_BY_MEMORY;
		return;
	case 'N':
		s->order = TOP_BY_PID;
		return;
	default:
		return;
	}
}

/* ---------------------------------------------------------------------- loop */

static void leave(void)
{
	endwin();
}

/* Handle keys until that time, or while it is paused. */
static int wait_for_keys(struct screen *s, uint64_t until)
{
	uint64_t now;
	int key, ret = show(s);

	for (now = now_ns(); !ret && !s->ended && (s->paused || now < until); now = now_ns()) {
		timeout(s->paused ? -1 : (int)((until - now) / NS_PER_MS) + 1);
		key = getch();
		if (key == ERR && s->paused)
			s->ended = true; /* the terminal was closed */
		if (key == ERR)
			continue;
		obey(s, key);
		ret = show(s);
	}
	return ret;
}

static int next_sample(struct screen *s)
{
	struct top_sample taken;
	int ret = top_take(s->devices, &taken);

	if (ret)
		return ret;
	if (s->newer.counters.ns) {
		top_free(&s->older);
		s->older = s->newer;
	}
	s->newer = taken;
	return EXIT_OK;
}

static int watch(struct screen *s, const struct top_args *args)
{
	uint64_t shown;
	int ret = top_take(s->devices, &s->older);

	if (ret)
		return ret;
	ret = wait_for_keys(s, s->older.counters.ns + args->interval_ns);
	for (shown = 0; !ret && !s->ended && (!args->count || shown < args->count); shown++) {
		ret = next_sample(s);
		if (!ret)
			ret = wait_for_keys(s, s->newer.counters.ns + args->interval_ns);
	}
	if (s->newer.counters.ns)
		top_free(&s->newer);
	top_free(&s->older);
	return ret;
}

static void set_up(void)
{
	cbreak();
	noecho();
	keypad(stdscr, true);
	set_escdelay(50);
	curs_set(0);
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(GREEN, COLOR_GREEN, -1);
	init_pair(YELLOW, COLOR_YELLOW, -1);
	init_pair(RED, COLOR_RED, -1);
}

int top_screen(const struct tool_devices *devices, const struct top_args *args)
{
	struct screen screen = { .devices = devices, .order = TOP_BY_BUSY };
	SCREEN *terminal = newterm(NULL, stdout, stdin);
	int ret;

	if (!terminal)
		return complain(EXIT_FAIL,
				"the terminal '%s' is not known here: set TERM, or take --batch",
				getenv("TERM") ? getenv("TERM") : "");
	if (!tigetstr("cup")) {
		endwin();
		delscreen(terminal);
		return complain(
			EXIT_FAIL,
			"the terminal '%s' cannot move its cursor: set TERM, or take --batch",
			getenv("TERM") ? getenv("TERM") : "");
	}
	set_up();
	tool_before_message = leave;
	ret = watch(&screen, args);
	tool_before_message = NULL;
	endwin();
	delscreen(terminal);
	free(screen.text);
	return ret;
}

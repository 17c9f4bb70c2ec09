// SPDX-License-Identifier: GPL-2.0-or-later
/* Print the report as tables with fixed columns, row by row while the demo runs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

#define AT_REST_MS	(VG_TIMEOUT_MS / 6)

struct column {
	const char *title;
	int width;
	bool right;
};

static const struct column step_columns[] = {
	{ "step", 4, false }, { "what was done", 58, false },
	{ "bytes", 9, true }, { "faults", 6, true }, { "replays", 7, true },
	{ "time", 9, true }, { "verdict", 7, false },
};

static const struct column usage_columns[] = {
	{ "part 2: memory in use", 44, false }, { "VRAM", 9, true },
	{ "", 20, false }, { "GTT", 9, true }, { "", 20, false },
};

static const struct column agree_columns[] = {
	{ "counted in this run", 44, false }, { "device says", 14, true },
	{ "driver says", 14, true }, { "user queues", 14, true },
	{ "verdict", 8, false },
};

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const char *verdict(bool good)
{
	static int tty = -1;

	if (tty < 0)
		tty = isatty(STDOUT_FILENO);
	if (tty)
		return good ? "\033[32m✓ holds\033[0m" :
			      "\033[31m✗ FAILS\033[0m";
	return good ? "✓ holds" : "✗ FAILS";
}

/*
 * Return the number of terminal columns of a UTF-8 string: its code points, except those of
 * escape sequences.
 */
static int display_width(const char *s)
{
	int n = 0;

	for (; *s; s++) {
		if (*s == '\033') {
			while (*s && *s != 'm')
				s++;
			continue;
		}
		n += (*s & 0xc0) != 0x80;
	}
	return n;
}

static void print_cell(const struct column *c, const char *text)
{
	int pad = c->width - display_width(text);

	if (pad < 0)
		pad = 0;
	printf("│ %*s%s%*s ", c->right ? pad : 0, "", text,
	       c->right ? 0 : pad, "");
}

static void print_row(const struct column *c, int n, const char *const *text)
{
	int i;

	for (i = 0; i < n; i++)
		print_cell(&c[i], text[i]);
	printf("│\n");
	fflush(stdout);
}

static void print_rule(const struct column *c, int n, const char *left,
		       const char *mid, const char *right)
{
	int i, j;

	for (i = 0; i < n; i++) {
		printf("%s", i ? mid : left);
		for (j = 0; j < c[i].width + 2; j++)
			printf("─");
	}
	printf("%s\n", right);
}

static void print_head(const struct column *c, int n)
{
	const char *text[8];
	int i;

	for (i = 0; i < n; i++)
		text[i] = c[i].title;
	print_rule(c, n, "┌", "┬", "┐");
	print_row(c, n, text);
}

static const char *bytes_text(char *buf, size_t size, uint64_t bytes)
{
	if (bytes >= 10 * VG_MIB || (bytes >= VG_MIB && !(bytes % VG_MIB)))
		snprintf(buf, size, "%lu MiB", bytes / VG_MIB);
	else if (bytes >= 10 * VG_KIB)
		snprintf(buf, size, "%lu KiB", bytes / VG_KIB);
	else
		snprintf(buf, size, "%lu", bytes);
	return buf;
}

void report_open(const struct demo *d)
{
	char vram[32];

	printf("vgpu-demo: GPU 0x%x (renderD%d), %s of VRAM, KFD %u.%u\n",
	       d->gpu->gpu_id, d->gpu->minor,
	       bytes_text(vram, sizeof(vram), d->mem.vram_total),
	       d->vg.major, d->vg.minor);
	print_head(step_columns, N(step_columns));
}

void report_part(const char *title)
{
	const char *text[] = { "", title, "", "", "", "", "" };

	print_rule(step_columns, N(step_columns), "├", "┼", "┤");
	print_row(step_columns, N(step_columns), text);
}

void step_begin(struct demo *d)
{
	if (vg_device_counters(d->gpu, &d->step_counters))
		d->step_counters.n = 0;
	d->step_start = vg_now();
}

static uint64_t since(const struct vg_counters *now,
		      const struct vg_counters *then, const char *name)
{
	return vg_counter(now, name, NULL) - vg_counter(then, name, NULL);
}

int step_end(struct demo *d, const char *step, const char *what, int r)
{
	char bytes[32], faults[32], replays[32], time[32];
	uint64_t ns = vg_now() - d->step_start, moved;
	struct vg_counters now;
	const char *text[] = { step, what, bytes, faults, replays, time,
			       verdict(!r) };

	/* Save the text of vg_error() before another call overwrites it. */
	char why[300];

	snprintf(why, sizeof(why), "%s", vg_error());
	if (vg_device_counters(d->gpu, &now))
		now = d->step_counters;
	moved = since(&now, &d->step_counters, "bytes_copied") +
		since(&now, &d->step_counters, "bytes_filled");
	bytes_text(bytes, sizeof(bytes), moved);
	snprintf(faults, sizeof(faults), "%lu",
		 since(&now, &d->step_counters, "faults_retry"));
	snprintf(replays, sizeof(replays), "%lu",
		 since(&now, &d->step_counters, "replays"));
	snprintf(time, sizeof(time), "%.1f ms", (double)ns / 1e6);
	print_row(step_columns, N(step_columns), text);
	if (r) {
		d->failures++;
		printf("│ step %s does not hold: %s\n", step, why);
	}
	fflush(stdout);
	return r;
}

void report_close(struct demo *d)
{
	(void)d;
	print_rule(step_columns, N(step_columns), "└", "┴", "┘");
}

static const char *bar(char *buf, uint64_t used, uint64_t total, int width)
{
	int i, n = total ? (int)((used * width + total / 2) / total) : 0;

	if (n > width)
		n = width;
	buf[0] = 0;
	for (i = 0; i < width; i++)
		strcat(buf, i < n ? "█" : "·");
	return buf;
}

void report_usage(const struct demo *d)
{
	const struct usage *u = d->usage;
	char vram[32], gtt[32], vram_bar[64], gtt_bar[64];
	const char *text[] = { "", vram, vram_bar, gtt, gtt_bar };
	int i;

	print_head(usage_columns, N(usage_columns));
	print_rule(usage_columns, N(usage_columns), "├", "┼", "┤");
	for (i = 0; i < d->n_usage; i++) {
		text[0] = u[i].when;
		bytes_text(vram, sizeof(vram), u[i].mem.vram_used);
		bytes_text(gtt, sizeof(gtt), u[i].mem.gtt_used);
		bar(vram_bar, u[i].mem.vram_used, u[i].mem.vram_total, 20);
		bar(gtt_bar, u[i].mem.gtt_used, u[i].mem.vram_total, 20);
		print_row(usage_columns, N(usage_columns), text);
	}
	print_rule(usage_columns, N(usage_columns), "└", "┴", "┘");
}

/**
 * struct agreement - a row that compares a counter of the device with counters of the driver
 */
struct agreement {
	/** @what: text of the row */
	/** @device: name of the device's counter */
	/** @driver: name of the driver's counter */
	/** @minus: name of a counter to subtract from the driver's counter, or NULL */
	const char *what, *device, *driver, *minus;
	/** @user: offset in struct vg_tally of a count to add to the driver's counter, or -1 */
	int user;
};

static const struct agreement agreements[] = {
	{ "retry faults reported / received", "faults_retry", "faults_retry",
	  NULL, -1 },
	{ "no-retry faults reported / received", "faults_noretry",
	  "faults_noretry", NULL, -1 },
	{ "replays / faults repaired and acknowledged", "replays", "cam_acks",
	  "faults_unrepaired", -1 },
	{ "TLB invalidations done / asked for", "invalidations",
	  "invalidations", NULL, -1 },
	{ "bytes copied", "bytes_copied", "bytes_copied", NULL,
	  (int)offsetof(struct vg_tally, bytes_copied) },
	{ "bytes filled", "bytes_filled", "bytes_filled", NULL,
	  (int)offsetof(struct vg_tally, bytes_filled) },
};

static uint64_t tally_of(const struct agreement *a)
{
	if (a->user < 0)
		return 0;
	return *(uint64_t *)((char *)vg_tally() + a->user);
}

/*
 * Store in *@device and *@driver how far the counters of row @a have risen. Return false if a
 * counter is missing.
 */
static bool evaluate(const struct agreement *a, const struct vg_counters *dev,
		     const struct vg_counters *drv,
		     const struct vg_counters *dev_now,
		     const struct vg_counters *drv_now, uint64_t *device,
		     uint64_t *driver)
{
	bool has_dev, has_drv, has_minus = true;

	vg_counter(dev_now, a->device, &has_dev);
	vg_counter(drv_now, a->driver, &has_drv);
	*device = since(dev_now, dev, a->device);
	*driver = since(drv_now, drv, a->driver);
	if (a->minus) {
		vg_counter(drv_now, a->minus, &has_minus);
		*driver -= since(drv_now, drv, a->minus);
	}
	return has_dev && has_drv && has_minus;
}

/*
 * Read the counters until the device and the driver agree in each row of agreements[], at most for
 * AT_REST_MS. Rows may differ while the driver clears and unmaps freed memory in the background.
 */
static void read_at_rest(struct demo *d, const struct vg_counters *dev,
			 const struct vg_counters *drv,
			 struct vg_counters *dev_now,
			 struct vg_counters *drv_now)
{
	uint64_t deadline = vg_now() + AT_REST_MS * 1000000ull, device, driver;
	int i;

	do {
		vg_device_counters(d->gpu, dev_now);
		vg_driver_counters(d->gpu, drv_now);
		for (i = 0; i < N(agreements); i++)
			if (!evaluate(&agreements[i], dev, drv, dev_now,
				      drv_now, &device, &driver) ||
			    device != driver + tally_of(&agreements[i]))
				break;
		if (i == N(agreements))
			return;
		vg_sleep_us(20000);
	} while (vg_now() < deadline);
}

void report_agreement(struct demo *d, const struct vg_counters *dev,
		      const struct vg_counters *drv)
{
	char device_text[32], driver_text[32], user_text[32];
	const char *text[] = { "", device_text, driver_text, user_text, "" };
	struct vg_counters dev_now = { 0 }, drv_now = { 0 };
	uint64_t device, driver;
	int i;

	read_at_rest(d, dev, drv, &dev_now, &drv_now);
	print_head(agree_columns, N(agree_columns));
	print_rule(agree_columns, N(agree_columns), "├", "┼", "┤");
	for (i = 0; i < N(agreements); i++) {
		const struct agreement *a = &agreements[i];
		bool known = evaluate(a, dev, drv, &dev_now, &drv_now, &device,
				      &driver);
		bool good = known && device == driver + tally_of(a);

		text[0] = a->what;
		text[4] = verdict(good);
		snprintf(device_text, sizeof(device_text), "%lu", device);
		snprintf(driver_text, sizeof(driver_text), "%lu", driver);
		snprintf(user_text, sizeof(user_text), "%s", "");
		if (a->user >= 0)
			snprintf(user_text, sizeof(user_text), "+ %lu",
				 tally_of(a));
		print_row(agree_columns, N(agree_columns), text);
		if (!good) {
			d->failures++;
			printf(known ? "│ device and driver disagree on %s\n" :
			       "│ a counter is missing for %s\n", a->what);
		}
	}
	print_rule(agree_columns, N(agree_columns), "└", "┴", "┘");
}

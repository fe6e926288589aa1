/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Refusals: which field of an argument an ioctl did not accept, its value, and what is allowed.
 * DRM_IOCTL_T3_REFUSAL, the tracepoint t3_refusal and a debug message tell.
 *
 * A function that finds such a field returns t3_refuse(), and its callers return the error as it
 * is. A lower layer that knows no field returns its error alone; the ioctl then names the field by
 * t3_explain(). Nothing is done for calls that succeed.
 */
#ifndef T3_REFUSE_H
#define T3_REFUSE_H

#include <linux/build_bug.h>
#include <linux/overflow.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "t3_accel.h"

struct drm_device;
struct drm_file;
struct t3_refusals;

#define T3_REFUSAL_NAME	   sizeof_field(struct drm_t3_refusal, field)
#define T3_REFUSAL_ALLOWED sizeof_field(struct drm_t3_refusal, allowed)

/* A field, and what is allowed there. */
struct t3_site {
	const char *type;    /* the struct's name; NULL: that of the ioctl */
	const char *field;   /* "": no field */
	const char *allowed; /* NULL: a range */
	u32 what;	     /* DRM_T3_REFUSAL_* */
};

/* Texts that do not fit are errors of the build. */
#define T3_FITS(text, room) ((text) + BUILD_BUG_ON_ZERO(sizeof(text) > (room)))
#define T3_SITE(name, text, flags)                                             \
	{                                                                      \
		.field = T3_FITS(name, T3_REFUSAL_NAME),                       \
		.allowed = T3_FITS(text, T3_REFUSAL_ALLOWED), .what = (flags), \
	}
#define T3_SITE_RANGE(name, flags)                                                               \
	{                                                                                        \
		.field = T3_FITS(name, T3_REFUSAL_NAME), .what = DRM_T3_REFUSAL_RANGE | (flags), \
	}
#define T3_SIGN(type) (is_signed_type(type) ? DRM_T3_REFUSAL_SIGNED : 0)
#define T3_WHAT(type) (DRM_T3_REFUSAL_VALUE | T3_SIGN(type))

/**
 * t3_refuse() - refuse a field of an argument
 * @file: the open file, whose ioctl this is
 * @args: the argument
 * @error: negative errno
 * @member: field of @args
 * @text: what is allowed there, a literal
 *
 * Return: @error.
 */
#define t3_refuse(file, args, error, member, text)                               \
	({                                                                       \
		static const struct t3_site t3_site_ =                           \
			T3_SITE(#member, text, T3_WHAT(typeof((args)->member))); \
		t3_refuse_at(file, error, &t3_site_, (args)->member, 0, 0);      \
	})

/* As t3_refuse(), of a field whose limits are known: least to most, both allowed. */
#define t3_refuse_range(file, args, error, member, least, most)                    \
	({                                                                         \
		static const struct t3_site t3_site_ =                             \
			T3_SITE_RANGE(#member, T3_WHAT(typeof((args)->member)));   \
		t3_refuse_at(file, error, &t3_site_, (args)->member, least, most); \
	})

/* As t3_refuse(), of a value that is no member, such as an element of an array of handles. */
#define t3_refuse_value(file, error, name, value, text)              \
	({                                                           \
		static const struct t3_site t3_site_ =               \
			T3_SITE(name, text, T3_WHAT(typeof(value))); \
		t3_refuse_at(file, error, &t3_site_, value, 0, 0);   \
	})

/* As t3_refuse(), of a field whose value says nothing, such as a result. */
#define t3_refuse_field(file, error, name, text)                               \
	({                                                                     \
		static const struct t3_site t3_site_ = T3_SITE(name, text, 0); \
		t3_refuse_at(file, error, &t3_site_, 0, 0, 0);                 \
	})

int t3_refuse_at(struct drm_file *file, int error, const struct t3_site *site, u64 value, u64 min,
		 u64 max);
int t3_refused(struct drm_file *file, int error, const char *type, const char *outer, u32 index);

/* Of a refused struct: which struct of an array it is, such as a command. Return the error. */
static inline int t3_refused_struct(struct drm_file *file, int error, const char *type)
{
	return error ? t3_refused(file, error, type, NULL, ~0u) : 0;
}

/* Of a refused struct: in which member of the argument it is. Return the error. */
static inline int t3_refused_in(struct drm_file *file, int error, const char *outer)
{
	return error ? t3_refused(file, error, NULL, outer, ~0u) : 0;
}

/* Of a refused element of an array: which one it is. Return the error. */
static inline int t3_refused_element(struct drm_file *file, int error, u32 index)
{
	return error ? t3_refused(file, error, NULL, NULL, index) : 0;
}

/* A line of the table of an argument: a check of one field, or the cause of one error. */
struct t3_rule {
	struct t3_site site;
	int error;
	u16 offset;
	u8 size;
	enum { T3_RULE_RANGE, T3_RULE_BITS, T3_RULE_CAUSE } kind;
	u64 min, max; /* RANGE; BITS: max has the bits that are allowed */
};

#define T3_RULE(rule, number, struct_name, member, ...)                                            \
	{                                                                                          \
		.kind = (rule), .error = (number), .offset = offsetof(struct struct_name, member), \
		.size = sizeof_field(struct struct_name, member), __VA_ARGS__                      \
	}
#define T3_MEMBER(struct_name, member) typeof(((struct struct_name *)0)->member)

/* -EINVAL unless least <= value <= most. */
#define T3_RANGE(struct_name, member, least, most)                                       \
	T3_RULE(T3_RULE_RANGE, -EINVAL, struct_name, member,                             \
		.site = T3_SITE_RANGE(#member, T3_WHAT(T3_MEMBER(struct_name, member))), \
		.min = (least), .max = (most))
#define T3_ZERO(struct_name, member) T3_RANGE(struct_name, member, 0, 0)

/* -EINVAL if other bits are set. */
#define T3_BITS(struct_name, member, bits, text)            \
	T3_RULE(T3_RULE_BITS, -EINVAL, struct_name, member, \
		.site = T3_SITE(#member, text, DRM_T3_REFUSAL_VALUE), .max = (bits))

/* For t3_explain(): this error is about this field. */
#define T3_CAUSE(number, struct_name, member, text)         \
	T3_RULE(T3_RULE_CAUSE, number, struct_name, member, \
		.site = T3_SITE(#member, text, T3_WHAT(T3_MEMBER(struct_name, member))))

/* Check the fields that have a rule. Returns 0 or -EINVAL. */
#define t3_check(file, args, rules) t3_check_rules(file, args, rules, ARRAY_SIZE(rules))
/* Name the field of an error, unless that was done. Returns the error. */
#define t3_explain(file, args, error, rules) \
	t3_explain_rules(file, args, error, rules, ARRAY_SIZE(rules))

int t3_check_rules(struct drm_file *file, const void *args, const struct t3_rule *rules,
		   size_t count);
int t3_explain_rules(struct drm_file *file, const void *args, int error,
		     const struct t3_rule *rules, size_t count);

struct t3_refusals *t3_refusals_new(void);
void t3_refusals_free(struct t3_refusals *refusals);
long t3_refusal_end(struct drm_file *file, unsigned int cmd, long ret);
int t3_refusal_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_REFUSE_H */

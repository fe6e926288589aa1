/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants, which join two spaces: see t3_grant.c, t3_route.c, t3_key.c and t3_key_debt.c.
 */
#ifndef T3_GRANT_H
#define T3_GRANT_H

#include "t3_space.h"

/* t3_grant.c: the receiving side */
struct t3_grant *t3_grant_from_file(struct file *filp);
void t3_grant_put(struct t3_grant *grant);
void t3_grants_drop(struct t3_space *space);
int t3_grant_export_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_grant_revoke_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

static inline struct t3_grant *t3_grant_get(struct t3_grant *grant)
{
	kref_get(&grant->ref);
	return grant;
}

int t3_grant_attach(struct t3_grant *grant, struct t3_space *owner);
void t3_grant_detach(struct t3_grant *grant);
int t3_grant_end(struct t3_grant *grant);

/* t3_route.c: the sending side */
struct t3_route *t3_route_free_slot(struct t3_space *space);
void t3_route_drop(struct t3_route *route);
void t3_route_give_up(struct t3_space *space, struct t3_route *route);
bool t3_routes_tidy(struct t3_space *space);
void t3_routes_tidy_all(struct t3_device *tdev);
struct t3_route *t3_route_find(struct t3_space *space, u32 handle);
void t3_routes_drop(struct t3_space *space);
int t3_grant_import_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_grant_release_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_key.c */
u32 t3_key_ranks(const struct t3_device *tdev);
int t3_key_export_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_key_import_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_key_debt.c */
struct t3_key_debt;
struct t3_key_debt *t3_key_debt(void);
int t3_key_may_ask(const struct t3_key_debt *debt);
void t3_key_asked(struct t3_key_debt *debt);
void t3_key_settle(struct t3_key_debt *debt, int ret);

#endif /* T3_GRANT_H */

; SPDX-License-Identifier: MIT
; Bands of a square of rods, by MPB. Its eigensolver adds up products of its bands on all ranks.
(set! num-bands 6)
(set! k-points (interpolate 1 (list (vector3 0 0 0) (vector3 0.5 0 0) (vector3 0.5 0.5 0))))
(set! geometry-lattice (make lattice (size 1 1 no-size)))
(set! geometry (list (make cylinder (center 0 0 0) (radius 0.2) (height infinity)
	(material (make dielectric (epsilon 12))))))
(set! resolution 32)
(run-tm)

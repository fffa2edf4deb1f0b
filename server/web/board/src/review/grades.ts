// The grades of decisions, with the names, signs and colours of the HTML report.

import { signs } from "../../../../../engine_cy/look.json";
import { Grade } from "../../generated/eminence/v1/solver_pb";

export type GradeName = keyof typeof signs;

/** All grades, best first. */
export const GRADES = Object.keys(signs) as GradeName[];

export const nameOfGrade = (grade: Grade): GradeName => GRADES[grade - Grade.BEST] ?? "best";
export const signOf = (grade: GradeName): string => signs[grade];
/** Whether a decision lost something that a reader would want to see. */
export const isBad = (grade: GradeName): boolean => signOf(grade) !== "";

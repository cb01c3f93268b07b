package world

// Chapter is a chapter of the international classification of diseases.
type Chapter struct {
	Name, Range string
	Clinic      string // who treats it
	Cue         string // what people say in passing who come for it
}

// Chapters are those that the world's illnesses are of.
var Chapters = []Chapter{
	{"Endocrine, nutritional and metabolic diseases", "E00-E89", "endocrinology", "I need to eat at regular hours."},
	{"Mental and behavioural disorders", "F01-F99", "psychiatry", "A quiet waiting room would help."},
	{"Diseases of the nervous system", "G00-G99", "neurology", "Bright lights are hard for me."},
	{"Diseases of the circulatory system", "I00-I99", "cardiology", "Please no stairs."},
	{"Diseases of the respiratory system", "J00-J99", "pulmonology", "Dust makes it worse."},
	{"Diseases of the digestive system", "K00-K95", "gastroenterology", "I have to sit close to a bathroom."},
	{"Diseases of the skin and subcutaneous tissue", "L00-L99", "dermatology", "I stay out of the sun."},
	{"Diseases of the musculoskeletal system and connective tissue", "M00-M99", "rheumatology", "I can't carry heavy things."},
	{"Diseases of the genitourinary system", "N00-N99", "urology", "I drink a lot of water these days."},
	{"Neoplasms", "C00-D49", "oncology", "My hair is only growing back."},
}

// Illness is a diagnosis with what goes with it.
type Illness struct {
	Name, Code string
	Chapter    int
	Medicines  []string // each as usual as the others
	Symptom    string   // how people speak of it without naming it
	young, old float64
}

var illnessTable = []Illness{
	{"type 2 diabetes", "E11", 0, []string{"metformin", "glipizide"}, "the sugar thing", .4, 3},
	{"type 1 diabetes", "E10", 0, []string{"insulin glargine", "insulin lispro"}, "the needles before every meal", .8, .4},
	{"hypothyroidism", "E03", 0, []string{"levothyroxine"}, "always feeling cold and slow", .6, 1.5},
	{"hyperthyroidism", "E05", 0, []string{"methimazole"}, "my heart racing and the weight falling off", .5, .5},
	{"gout", "M10", 7, []string{"allopurinol", "colchicine"}, "the toe that wakes me at night", .2, 1.2},
	{"obesity", "E66", 0, []string{"semaglutide"}, "the weight I can't shift", 1, 1},
	{"depression", "F32", 1, []string{"sertraline", "fluoxetine"}, "not getting out of bed for weeks", 2, 1},
	{"bipolar disorder", "F31", 1, []string{"lithium", "lamotrigine"}, "the highs and the crashes", .6, .3},
	{"generalized anxiety disorder", "F41", 1, []string{"escitalopram", "buspirone"}, "worrying until I shake", 1.8, .6},
	{"attention deficit disorder", "F90", 1, []string{"methylphenidate"}, "not being able to sit through a form", 1.5, .1},
	{"schizophrenia", "F20", 1, []string{"risperidone", "olanzapine"}, "the voices", .3, .2},
	{"alcohol dependence", "F10", 1, []string{"naltrexone"}, "the drinking", .6, .6},
	{"epilepsy", "G40", 2, []string{"levetiracetam", "lamotrigine"}, "the fits", .7, .6},
	{"migraine", "G43", 2, []string{"sumatriptan", "topiramate"}, "the headaches with flashing lights", 1.6, .6},
	{"Parkinson's disease", "G20", 2, []string{"carbidopa-levodopa"}, "the shaking in my hand", .02, 1.1},
	{"multiple sclerosis", "G35", 2, []string{"ocrelizumab", "fingolimod"}, "the numb legs that come and go", .5, .4},
	{"Alzheimer's disease", "G30", 2, []string{"donepezil", "memantine"}, "losing the names of people", .01, 1.3},
	{"hypertension", "I10", 3, []string{"lisinopril", "amlodipine"}, "the pressure readings", .6, 4},
	{"atrial fibrillation", "I48", 3, []string{"apixaban", "metoprolol"}, "the flutter in my chest", .1, 1.8},
	{"coronary artery disease", "I25", 3, []string{"clopidogrel", "atorvastatin"}, "the tightness when I climb stairs", .1, 2},
	{"heart failure", "I50", 3, []string{"furosemide", "carvedilol"}, "the swollen ankles and no breath", .05, 1.3},
	{"deep vein thrombosis", "I82", 3, []string{"rivaroxaban"}, "the clot in my leg", .3, .6},
	{"asthma", "J45", 4, []string{"albuterol", "fluticasone"}, "not breathing when the pollen is out", 2, .7},
	{"chronic obstructive pulmonary disease", "J44", 4, []string{"tiotropium"}, "the smoker's cough", .05, 1.5},
	{"allergic rhinitis", "J30", 4, []string{"cetirizine", "loratadine"}, "sneezing all spring", 1.4, .6},
	{"sleep apnea", "G47", 2, []string{"a breathing mask at night"}, "waking without air", .4, 1},
	{"gastric reflux", "K21", 5, []string{"omeprazole", "famotidine"}, "the burning after meals", 1, 1.3},
	{"Crohn's disease", "K50", 5, []string{"infliximab", "budesonide"}, "the cramps that put me in hospital", .7, .3},
	{"ulcerative colitis", "K51", 5, []string{"mesalamine"}, "the bleeding gut", .6, .3},
	{"irritable bowel syndrome", "K58", 5, []string{"rifaximin"}, "the bloating after bread", 1, .5},
	{"celiac disease", "K90", 5, []string{"a diet without gluten"}, "not being able to eat bread", .8, .3},
	{"cirrhosis", "K74", 5, []string{"spironolactone"}, "the scarred liver", .1, .6},
	{"psoriasis", "L40", 6, []string{"adalimumab", "calcipotriene"}, "the silver patches on my elbows", .7, .6},
	{"eczema", "L20", 6, []string{"tacrolimus ointment"}, "the itching in the folds", 1.4, .3},
	{"severe acne", "L70", 6, []string{"isotretinoin"}, "the spots that scar", 1.6, .02},
	{"rosacea", "L71", 6, []string{"ivermectin cream"}, "the red face", .5, .7},
	{"rheumatoid arthritis", "M06", 7, []string{"methotrexate", "adalimumab"}, "the stiff fingers in the morning", .4, 1},
	{"osteoporosis", "M81", 7, []string{"alendronate"}, "the brittle bones", .03, 1.6},
	{"lupus", "M32", 7, []string{"hydroxychloroquine"}, "the rash like a butterfly", .5, .2},
	{"fibromyalgia", "M79", 7, []string{"pregabalin", "duloxetine"}, "hurting all over", .7, .6},
	{"chronic kidney disease", "N18", 8, []string{"sevelamer"}, "the filtering going down", .1, 1.4},
	{"kidney stones", "N20", 8, []string{"tamsulosin"}, "the stone that sent me to the floor", .7, .7},
	{"enlarged prostate", "N40", 8, []string{"finasteride", "tamsulosin"}, "getting up five times a night", .01, 1.3},
	{"endometriosis", "N80", 8, []string{"dienogest"}, "the pain every month", 1.1, .1},
	{"breast cancer", "C50", 9, []string{"tamoxifen", "anastrozole"}, "the lump they took out", .2, 1},
	{"prostate cancer", "C61", 9, []string{"leuprolide"}, "the gland they are watching", .01, 1},
	{"colon cancer", "C18", 9, []string{"capecitabine"}, "the piece of gut they removed", .1, .7},
	{"melanoma", "C43", 9, []string{"nivolumab"}, "the mole they cut out", .3, .4},
	{"lymphoma", "C85", 9, []string{"rituximab"}, "the swollen glands", .3, .4},
	{"leukemia", "C95", 9, []string{"imatinib"}, "the blood counts", .3, .4},
}

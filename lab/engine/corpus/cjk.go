package corpus

import "strings"

// tongue is what sentences of a language are made of: words of a class take
// each other's places.
type tongue struct {
	who, what, where, does []string
	build                  func(d *draw, who, what, where, does string) string
}

var tongues = []tongue{
	{
		who:   strings.Fields("我们 工程师 用户 客户 学生 老师 公司 医生 管理员 朋友 供应商 研究人员 编辑 司机 会计 邻居 议员 记者"),
		what:  strings.Fields("合同 报告 数据 文件 订单 系统 计划 问题 会议记录 预算 软件 地图 新闻 样本 设备 发票 课程 电影 账户 配置 日志 旧书 代码 模型"),
		where: strings.Fields("北京 上海 会议室 图书馆 仓库 车站 办公室 网络上 学校里 河边 数据库中 医院 工厂 广州 海港 山谷 服务器上"),
		does:  strings.Fields("检查了 修改了 提交了 整理了 讨论了 删除了 保存了 翻译了 发送了 批准了 忘记了 比较了 购买了 更新了 打印了 分析了"),
		build: func(d *draw, who, what, where, does string) string {
			return d.one([]string{"昨天", "今天上午", "去年", "下周一之前", "突然", "", "根据规定，", "因为下雨，"}) + who + "在" + where + does + d.one([]string{"一份", "所有的", "新的", "重要的", ""}) + what + "。"
		},
	},
	{
		who:   strings.Fields("私たち 利用者 先生 学生 会社 医者 管理者 友達 技術者 研究者 編集者 運転手 社長 隣の人 市長"),
		what:  strings.Fields("契約書 報告 データ ファイル 注文 システム 計画 問題 議事録 予算 ソフトウェア 地図 ニュース 標本 機械 請求書 授業 映画 アカウント 設定 記録 古い本"),
		where: strings.Fields("東京 大阪 会議室 図書館 倉庫 駅 事務所 ネットワーク 学校 川岸 病院 工場 港 サーバー 京都 庭園"),
		does:  strings.Fields("確認しました 直しました 提出しました 整理しました 話し合いました 削除しました 保存しました 翻訳しました 送りました 忘れました 比べました 買いました 更新しました"),
		build: func(d *draw, who, what, where, does string) string {
			return d.one([]string{"昨日、", "今朝、", "去年、", "来週までに、", "", "雨が降ったので、"}) + who + d.one([]string{"は", "が", "も"}) + where + "で" + d.one([]string{"新しい", "大切な", "すべての", ""}) + what + "を" + does + "。"
		},
	},
	{
		who:   strings.Fields("우리는 사용자가 선생님이 학생은 회사가 의사는 관리자가 친구가 기술자는 연구원이 편집자가 운전사는 시장이 이웃이"),
		what:  strings.Fields("계약서를 보고서를 데이터를 파일을 주문을 시스템을 계획을 문제를 회의록을 예산을 소프트웨어를 지도를 뉴스를 장비를 영화를 계정을 설정을 기록을"),
		where: strings.Fields("서울에서 부산에서 회의실에서 도서관에서 창고에서 역에서 사무실에서 학교에서 강가에서 병원에서 공장에서 항구에서 서버에서"),
		does:  strings.Fields("확인했다 고쳤다 제출했다 정리했다 논의했다 삭제했다 저장했다 번역했다 보냈다 승인했다 잊었다 비교했다 샀다 갱신했다 인쇄했다"),
		build: func(d *draw, who, what, where, does string) string {
			return d.one([]string{"어제 ", "오늘 아침 ", "작년에 ", "다음 주까지 ", "갑자기 ", ""}) + who + " " + where + " " + d.one([]string{"새로운 ", "중요한 ", "모든 ", ""}) + what + " " + does + ". "
		},
	},
}

// cjk appends one paragraph of one language, with some numbers and Latin words
// as such texts have them.
func cjk(d *draw) error {
	t := &tongues[d.IntN(len(tongues))]
	for range 2 + d.IntN(8) {
		d.add(t.build(d, d.one(t.who), d.one(t.what), d.one(t.where), d.one(t.does)))
		switch d.IntN(12) {
		case 0:
			d.addf("（%d年%d月%d日）", 1980+d.IntN(50), 1+d.IntN(12), 1+d.IntN(28))
		case 1:
			d.addf(" %s v%d.%d ", d.ident(), d.IntN(9), d.IntN(30))
		}
	}
	d.add("\n")
	return nil
}

using System.Net;
using System.Text;
using Tunnel2.Policies.Paths;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;

namespace Tunnel2.Policies.Tests.Tables;

public sealed class PolicyRowTests
{
    public static TheoryData<string> Spellings =>
    [
        "/admin", "/admin/", "/admin/users", "/ADMIN", "/Admin/x", "//admin", "/./admin", "/a/../admin", "/%61dmin", "/%2561dmin",
        "/a/%2e%2e/admin", "/a/..%2fadmin", "/a%2f..%2fadmin", "/admin%2fusers", "/admin;x=1", "/admin;x=1/users", "/a/..;/admin",
        "/a/..%5cadmin", "/%5cadmin",
        "/admin%00", "/admin%20", "/admin.", "/a//../admin", "/a/b/../../admin", "/%c1%a1dmin", "/a%c0%af..%c0%afadmin",
        "/.;/admin", "/;a/admin", "/%2e/admin", "/%252e%252e/admin", "/public/../admin/x", "/admin/../admin",
        "//host/admin", "///host/admin/x", "//host//x/../admin", "/%2fhost/admin", "/%252fhost/admin", "/%5c%5chost/admin",
        "/admin%3fx", "/admin%23x", "/admin%253fx", "//host/admin%3fx", "/admin%0a", "/admin%0d%0a", "/admin%09/x", "/admin%2509",
        "/ad%09min", "/ad%0amin/x", "/a/.%0d./admin", "/%09/host/admin", "/%2509%252fhost/admin", "/admin%01", "/admin%1f%20",
    ];

    [Theory]
    [MemberData(nameof(Spellings))]
    public void No_spelling_gets_around_a_deny_row(string path)
    {
        Assert.Null(RowOf("""{ "path": "/admin/**", "deny": true }""").FindObstacle(new Request { Target = path }));
        Assert.Equal(
            PolicyCondition.Path,
            RowOf("""{ "path": "/public/**", "allow": true }, { "deny": true }""").FindObstacle(new Request { Target = path }));
    }

    [Theory]
    [InlineData("/public/../admin")]
    [InlineData("/public/%2e%2e/admin")]
    [InlineData("/public/..%2fadmin")]
    [InlineData("/public/%252e%252e/admin")]
    [InlineData("/public/..;/admin")]
    [InlineData("/PUBLIC/a")]
    [InlineData("/public/..%5cadmin")]
    [InlineData("/public%00/../x")]
    [InlineData("//public/a")]
    [InlineData("//public/public/../x")]
    public void An_allow_row_wants_each_reading(string path) => Assert.Equal(
        PolicyCondition.Path,
        RowOf("""{ "path": "/public/**", "allow": true }, { "deny": true }""").FindObstacle(new Request { Target = path }));

    [Theory]
    [InlineData("/public/a%20b")]
    [InlineData("/public//a")]
    [InlineData("/public/a%3fb")]
    [InlineData("/public/group%2frepo")]
    [InlineData("/public/%C3%A4")]
    public void An_allow_row_takes_harmless_spellings(string path) => Assert.Null(
        RowOf("""{ "path": "/public/**", "allow": true }, { "deny": true }""").FindObstacle(new Request { Target = path }));

    [Theory]
    [InlineData("GET", "GET", true)]
    [InlineData("GET", "HEAD", true)]
    [InlineData("GET", "get", true)]
    [InlineData("HEAD", "GET", false)]
    [InlineData("POST", "POST2", false)]
    public void A_method_means_itself_and_get_means_head_too(string own, string method, bool matches) => Assert.Equal(
        matches, RowOf($$"""{ "method": "{{own}}", "deny": true }""").FindObstacle(new Request { Verb = method }) is null);

    [Fact]
    public void An_unknown_address_is_denied_and_not_allowed()
    {
        var nobody = new Request { From = null };
        Assert.Null(RowOf("""{ "address": "10.0.0.0/8", "deny": true }""").FindObstacle(nobody));
        Assert.NotNull(RowOf("""{ "address": "10.0.0.0/8", "allow": true }, { "deny": true }""").FindObstacle(nobody));
        var mapped = new Request { From = IPAddress.Parse("::ffff:10.1.2.3") };
        Assert.Null(RowOf("""{ "address": "10.0.0.0/8", "allow": true }, { "deny": true }""").FindObstacle(mapped));
        Assert.NotNull(RowOf("""{ "address": "::/0", "deny": true }""").FindObstacle(mapped));
    }

    [Theory]
    [InlineData("""{ "X-A": "b" }""", true, "b")]
    [InlineData("""{ "X-A": "b" }""", true, "B")]
    [InlineData("""{ "X-A": "b" }""", true, "a", "b")]
    [InlineData("""{ "X-A": "b" }""", true, "a, b")]
    [InlineData("""{ "X-A": "b" }""", false, "bb")]
    [InlineData("""{ "X-A": "a, b" }""", true, "A", "b")]
    [InlineData("""{ "X-A": "a, b" }""", false, "b", "a")]
    [InlineData("""{ "X-A": "*b*" }""", true, "aBc")]
    [InlineData("""{ "X-A": "*a, b*" }""", true, "xa", "bx")]
    [InlineData("""{ "Cookie": "a=1; b=2" }""", true, "a=1", "b=2")]
    [InlineData("""{ "Cookie": "*a=1; b=2*" }""", true, "x=0; a=1", "b=2; c=3")]
    [InlineData("""{ "X-A": true }""", true, "")]
    [InlineData("""{ "X-A": true }""", false)]
    [InlineData("""{ "X-A": false }""", true)]
    [InlineData("""{ "X-A": false }""", false, "")]
    public void A_deny_row_takes_any_line_of_a_header(string header, bool matches, params string[] values) => Assert.Equal(
        matches, RowOf($$"""{ "header": {{header}}, "deny": true }""").FindObstacle(new Request { Lines = values }) is null);

    [Theory]
    [InlineData(true, "b")]
    [InlineData(false, "B")]
    [InlineData(false, "b", "b")]
    [InlineData(false, "a, b")]
    public void An_allow_row_takes_one_line_as_it_is_written(bool matches, params string[] values) => Assert.Equal(
        matches,
        RowOf("""{ "header": { "X-A": "b" }, "allow": true }, { "deny": true }""").FindObstacle(new Request { Lines = values }) is null);

    [Theory]
    [InlineData("""{ "X-A": "b" }""")]
    [InlineData("""{ "X-A": "*b*" }""")]
    public void An_allow_row_takes_no_lookalike_beside_the_line_that_it_wants(string header)
    {
        var row = RowOf($$"""{ "header": {{header}}, "allow": true }, { "deny": true }""");
        Assert.Null(row.FindObstacle(new Request { Lines = ["b"] }));
        Assert.Equal(PolicyCondition.Header, row.FindObstacle(new Request { Lines = ["b"], Lookalikes = ["x"] }));
        Assert.Equal(PolicyCondition.Header, row.FindObstacle(new Request { Lookalikes = ["b"] }));
    }

    [Theory]
    [InlineData("DE", true)]
    [InlineData("XX", false)]
    [InlineData(null, false)]
    public void A_country_is_one_of_those(string? country, bool matches) => Assert.Equal(
        matches, RowOf("""{ "country": ["DE", "FR"], "deny": true }""").FindObstacle(new Request { Land = country }) is null);

    [Fact]
    public void An_unknown_country_is_XX() =>
        Assert.Null(RowOf("""{ "country": "XX", "deny": true }""").FindObstacle(new Request { Land = null }));

    private static PolicyRow RowOf(string rows) => PolicyReader.Read(Encoding.UTF8.GetBytes($"[{rows}]")).Policy!.Rows[0];

    private sealed class Request : PolicyRequest
    {
        private readonly RequestPath _path = new();

        public string Target { get; init; } = "/";

        public string Verb { get; init; } = "GET";

        public IPAddress? From { get; init; } = IPAddress.Loopback;

        public string? Land { get; init; }

        public string[] Lines { get; init; } = [];

        public string[] Lookalikes { get; init; } = [];

        public override ReadOnlySpan<byte> Method => Encoding.ASCII.GetBytes(Verb);

        public override RequestPath Path
        {
            get
            {
                _path.Read(Encoding.Latin1.GetBytes(Target));
                return _path;
            }
        }

        public override IPAddress? Address => From;

        public override string? Country => Land;

        public override string[] Values(string name, bool withLookalikes) =>
            name is not ("X-A" or "Cookie") ? [] : withLookalikes ? [.. Lines, .. Lookalikes] : Lines;
    }
}

using Tunnel2.Http1;
using Tunnel2.ProxyEntry.Errors;
using static Tunnel2.ProxyEntry.Tests.Fronts.TwoFronts;

namespace Tunnel2.ProxyEntry.Tests.Fronts;

/// <summary>Each row of the table through both fronts, in each place where a field can be.</summary>
public sealed class FieldTableTests
{
    private static readonly string[] _trusted = ["TrustedProxies=10.0.0.0/8"];

    /// <summary>A name for each row.</summary>
    public static TheoryData<string> Names => [.. FieldTable.Rows.Select(static row => row.Name ?? SampleOf(row.Known))];

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_field_of_a_request(string name)
    {
        foreach (var isTrusted in new[] { false, true })
        {
            var request = Of(name) with { Settings = isTrusted ? _trusted : [] };
            var (http1, http2) = (await ByHttp1Async(request), ByHttp2(request));
            var row = RowOf(name);
            AssertRequest(http1, name, row.Request, isTrusted);
            AssertRequest(http2, name, row.IsOfHttp1 ? FieldRule.Refuse : row.Request, isTrusted);
            Assert.True(row.IsOfHttp1 || http1 == http2, $"{http1}\n{http2}");
        }
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_field_of_a_request_in_a_trace_that_continues(string name)
    {
        var request = Of(name) with
        {
            Extras = static extras =>
            {
                extras.SetTraceParent().Fill((byte)'0');
                extras.DropsTraceState = true;
            },
        };
        var (http1, http2) = (await ByHttp1Async(request), ByHttp2(request));
        var row = RowOf(name);
        Assert.True(row.IsOfHttp1 || http1 == http2, $"{http1}\n{http2}");
        if (row.Request == FieldRule.Trace)
        {
            Assert.DoesNotContain(Line(name), http1.Block, StringComparison.Ordinal);
        }

        Assert.Equal(
            row.Request != FieldRule.Refuse, http1.Block.Contains($"\ntraceparent: {new string('0', 55)}\n", StringComparison.Ordinal));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_field_of_a_request_whose_visitor_has_logged_in(string name)
    {
        var request = Of(name) with { Extras = static extras => extras.SetUser("alice"u8.ToArray(), usesCredentials: true) };
        var (http1, http2) = (await ByHttp1Async(request), ByHttp2(request));
        var row = RowOf(name);
        Assert.True(row.IsOfHttp1 || http1 == http2, $"{http1}\n{http2}");
        if (row.Request is FieldRule.Credentials or FieldRule.Identity)
        {
            Assert.DoesNotContain(Line(name), http1.Block, StringComparison.OrdinalIgnoreCase);
        }

        Assert.Equal(row.Request != FieldRule.Refuse, http1.Block.Contains("\nX-Tunnel2-User: alice\n", StringComparison.Ordinal));
    }

    /// <summary>HTTP/2 has no Connection, so this is about one front only.</summary>
    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_field_that_connection_lists(string name)
    {
        var request = Of(name);
        var passed = await ByHttp1Async(
            request with { Fields = [("Connection", $"x-other, {name}"), .. request.Fields], Settings = _trusted });
        var rule = RowOf(name).Request;
        if (rule == FieldRule.Refuse)
        {
            Assert.Equal(ProxyError.BadRequest, passed.Fault);
            return;
        }

        // To list Upgrade is to ask for it.
        var isKept = rule is FieldRule.Keep or FieldRule.Trailers or FieldRule.Protocols or FieldRule.TrustedForwarding
            or FieldRule.Forwarding;
        Assert.Equal(isKept, Says(passed.Block, name));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_field_of_a_response(string name)
    {
        foreach (var status in new[] { 200, 204, 304 })
        {
            (string, string)[] fields = [(name, ValueOf(name)), ("X-Last", "1")];
            var (http1, http2) = (await AnswerByHttp1Async(status, fields, []), AnswerByHttp2(status, fields, []));
            var passes = RowOf(name).Response is FieldRule.Pass || (RowOf(name).Response == FieldRule.Length && status != 204);
            Assert.Equal(passes, http1.Fields.Contains($"{name}: {ValueOf(name)}"));
            Assert.Equal(passes, http2.Fields.Contains($"{name}: {ValueOf(name)}"));
        }
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_trailer_of_a_request(string name)
    {
        var request = new Request { Trailers = [(name, "7"), ("X-Last", "1")] };
        var (http1, http2) = (await ByHttp1Async(request), ByHttp2(request));
        var row = RowOf(name);
        AssertTrailer(http1, name, row.Trailer);
        AssertTrailer(http2, name, row.IsOfHttp1 ? FieldRule.Refuse : row.Trailer);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_trailer_of_a_response(string name)
    {
        (string, string)[] trailers = [(name, "7"), ("X-Last", "1")];
        string[] expected = RowOf(name).Trailer == FieldRule.Pass ? [$"{name}: 7", "X-Last: 1"] : ["X-Last: 1"];
        Assert.Equal(expected, (await AnswerByHttp1Async(200, [], trailers)).Trailers);
        Assert.Equal(expected, AnswerByHttp2(200, [], trailers).Trailers);
    }

    [Fact]
    public void Every_field_has_one_row()
    {
        Assert.Equal(
            Enum.GetValues<KnownField>(),
            FieldTable.Rows.Where(static row => row.Known != KnownField.None || row.Name is null).Select(static row => row.Known).Order());
        Assert.Distinct(Names.Select(static row => row.Data));
    }

    private static void AssertRequest(Passed passed, string name, FieldRule rule, bool isTrusted)
    {
        if (rule == FieldRule.Refuse)
        {
            Assert.Equal(ProxyError.BadRequest, passed.Fault);
            return;
        }

        Assert.Null(passed.Fault);
        var passes = rule switch
        {
            FieldRule.Pass or FieldRule.Keep or FieldRule.Trace or FieldRule.Trailers or FieldRule.Credentials => true,
            FieldRule.Forwarding or FieldRule.TrustedForwarding => isTrusted,
            FieldRule.Drop or FieldRule.Protocols or FieldRule.Identity => false,
            _ => throw new InvalidOperationException($"{rule} is no rule of a request."),
        };
        Assert.True(passes == Says(passed.Block, name), passed.Block);
    }

    private static void AssertTrailer(Passed passed, string name, FieldRule rule)
    {
        if (rule == FieldRule.Refuse)
        {
            Assert.Equal(ProxyError.BadRequest, passed.Fault);
            return;
        }

        Assert.Null(passed.Fault);
        Assert.EndsWith(
            rule == FieldRule.Pass ? $"\n{name}: 7\nX-Last: 1\n" : ";by=_tunnel2\nX-Last: 1\n", passed.Block, StringComparison.Ordinal);
    }

    private static Request Of(string name) => name == "host" ? new Request() : new Request((name, ValueOf(name)));

    /// <summary>Whether a block has what the visitor said, alone or at the beginning of a list.</summary>
    private static bool Says(string block, string name) =>
        block.Contains($"\n{name}: {ValueOf(name)}", StringComparison.OrdinalIgnoreCase);

    private static string Line(string name) => $"\n{name}: {ValueOf(name)}\n";

    private static string ValueOf(string name) => name switch
    {
        "host" => "web.localhost",
        "content-length" => "2",
        "transfer-encoding" => "chunked",
        "te" => "trailers",
        "expect" => "100-continue",
        _ => "7",
    };

    private static FieldRow RowOf(string name) => FieldTable.Rows.Single(row => (row.Name ?? SampleOf(row.Known)) == name);

    private static string SampleOf(KnownField known) => known switch
    {
        KnownField.None => "x-anything",
        KnownField.FramingLookalike => "content_length",
        KnownField.HopByHopLookalike => "keep_alive",
        KnownField.XForwardedOther => "x-forwarded-prefix",
        KnownField.ForwardingLookalike => "x_forwarded_for",
        KnownField.Tunnel2 => "tunnel2-timing",
        KnownField.XTunnel2 => "x-tunnel2-user",
        _ => throw new InvalidOperationException($"{known} needs a name."),
    };
}

using System.Text.Json;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Tests.Console;

public sealed class JsonEventFormatterTests
{
    private const string Time = "\"time\":\"2026-11-21T10:11:12.345+00:00\"";

    private static readonly DateTimeOffset _time = new(2026, 11, 21, 10, 11, 12, 345, TimeSpan.Zero);

    private static async Task<string> LineOf(AgentEvent agentEvent)
    {
        using var output = new StringWriter { NewLine = "\n" };
        await new JsonEventFormatter(ServerEndpoint.Default).WriteAsync(agentEvent, output, TestContext.Current.CancellationToken);
        string text = output.ToString();
        Assert.EndsWith("}\n", text, StringComparison.Ordinal);
        Assert.Equal(1, text.AsSpan().Count('\n'));
        return text.TrimEnd('\n');
    }

    [Fact]
    public async Task Ready_names_the_urls_the_upstream_and_a_command_to_try() =>
        Assert.Equal(
            $$"""{"event":"ready",{{Time}},"server":"127.0.0.1:12001","urls":["http://web.localhost:12000"]"""
                + ""","upstream":"http://127.0.0.1:3000","try":"curl -H 'Host: web.localhost' http://127.0.0.1:12000/"}""",
            await LineOf(new ReadyEvent(_time, ["http://web.localhost:12000"], new BackendTarget(false, "127.0.0.1", 3000))));

    [Fact]
    public async Task The_tunnel_is_in_every_line_where_it_is_known() =>
        Assert.Equal(
            """{"event":"stopped","time":"2026-11-21T10:11:12.345+00:00","tunnel":"web"}""",
            await LineOf(new StoppedEvent(_time) { Tunnel = "web" }));

    [Fact]
    public async Task A_backend_that_is_down_and_back_has_an_event_each_time()
    {
        var upstream = new BackendTarget(false, "127.0.0.1", 3000);
        Assert.Equal(
            $$"""{"event":"backend_unreachable",{{Time}},"upstream":"http://127.0.0.1:3000","message":"Nothing listens."}""",
            await LineOf(new BackendUnreachableEvent(_time, upstream, "Nothing listens.")));
        Assert.Equal(
            """{"event":"backend_reachable","time":"2026-11-21T10:11:12.345+00:00","upstream":"http://127.0.0.1:3000"}""",
            await LineOf(new BackendReachableEvent(_time, upstream)));
    }

    [Fact]
    public async Task A_service_that_is_checked_has_an_event_for_each_change()
    {
        var upstream = new BackendTarget(false, "127.0.0.1", 3000);
        Assert.Equal(
            $$"""{"event":"service_unhealthy",{{Time}},"upstream":"http://127.0.0.1:3000","message":"It does not."}""",
            await LineOf(new ServiceCheckedEvent(_time, upstream, false, "It does not.")));
        Assert.Equal(
            $$"""{"event":"service_healthy",{{Time}},"upstream":"http://127.0.0.1:3000","message":"It does."}""",
            await LineOf(new ServiceCheckedEvent(_time, upstream, true, "It does.")));
    }

    [Fact]
    public async Task A_backend_that_sends_too_much_and_a_shortage_of_connections_have_events()
    {
        Assert.Equal(
            $$"""{"event":"backend_surplus",{{Time}},"upstream":"http://127.0.0.1:3000","message":"Too much."}""",
            await LineOf(new BackendSurplusEvent(_time, new BackendTarget(false, "127.0.0.1", 3000), "Too much.")));
        Assert.Equal(
            $$"""{"event":"backend_connections_short",{{Time}},"message":"All in use.","limit":20,"waiting":3}""",
            await LineOf(new BackendConnectionsShortEvent(_time, 20, 3, "All in use.")));
        Assert.Equal(
            $$"""{"event":"uploads_cut",{{Time}},"message":"Cut.","count":7,"held_megabytes":200,"limit_megabytes":256}""",
            await LineOf(new UploadsCutEvent(_time, 7, 200, 256, "Cut.")));
    }

    [Fact]
    public async Task A_request_that_failed_names_leg_and_error()
    {
        string line = await LineOf(new RequestCompletedEvent(
            _time, new RequestSummary("GET", "/", 0, TimeSpan.FromMilliseconds(1), 0, 0, "connection refused", "backend")));
        Assert.Contains("\"leg\":\"backend\",\"error\":\"connection refused\"", line, StringComparison.Ordinal);
    }

    public static TheoryData<string, string> Ends => new()
    {
        { "unreachable", "refused" },
        { "rejected", "name_taken" },
        { "lost", "" },
        { "superseded", "" },
        { "going_away", "" },
    };

    [Theory]
    [MemberData(nameof(Ends))]
    public async Task The_end_of_a_session_has_the_name_of_its_reason(string name, string code)
    {
        ConnectionEnd end = name switch
        {
            "unreachable" => ConnectionEnd.Unreachable(ConnectFailure.Create(ServerEndpoint.Default, ConnectFailureReason.Refused)),
            "rejected" => ConnectionEnd.RejectedPermanently(new Rejection(RejectionReason.NameTaken, "name_taken", "by another")),
            "superseded" => ConnectionEnd.Superseded(TimeSpan.FromSeconds(1.5)),
            "going_away" => ConnectionEnd.GoingAway(TimeSpan.FromSeconds(1.5), TimeSpan.FromSeconds(2)),
            _ => ConnectionEnd.Lost("reset", TimeSpan.FromSeconds(1.5)),
        };

        using JsonDocument line = JsonDocument.Parse(await LineOf(new ConnectionEndedEvent(_time, end)));

        Assert.Equal(name, line.RootElement.GetProperty("event").GetString());
        Assert.Equal(end.Message, line.RootElement.GetProperty("message").GetString());
        if (code.Length > 0)
        {
            Assert.Equal(code, line.RootElement.GetProperty("code").GetString());
        }
        else
        {
            Assert.Equal(1.5, line.RootElement.GetProperty("up_seconds").GetDouble());
        }
    }

    [Fact]
    public async Task A_rejection_for_now_says_so_and_for_how_long()
    {
        ConnectionEnd end = ConnectionEnd.RejectedForNow(new Rejection(RejectionReason.Busy, "busy", ""), TimeSpan.FromSeconds(30));

        using JsonDocument line = JsonDocument.Parse(await LineOf(new ConnectionEndedEvent(_time, end)));

        Assert.False(line.RootElement.GetProperty("permanent").GetBoolean());
        Assert.Equal(30, line.RootElement.GetProperty("retry_after_seconds").GetDouble());
    }

    [Fact]
    public async Task Every_failure_to_connect_has_a_code_of_its_own()
    {
        var codes = new HashSet<string?>();
        foreach (ConnectFailureReason reason in Enum.GetValues<ConnectFailureReason>())
        {
            ConnectionEnd end = ConnectionEnd.Unreachable(ConnectFailure.Create(ServerEndpoint.Default, reason));
            using JsonDocument line = JsonDocument.Parse(await LineOf(new ConnectionEndedEvent(_time, end)));
            codes.Add(line.RootElement.GetProperty("code").GetString());
        }

        Assert.Equal(Enum.GetValues<ConnectFailureReason>().Length, codes.Count);
    }

    [Fact]
    public async Task A_request_is_an_object_without_the_query()
    {
        var request = new RequestSummary("GET", "/a?token=s3cret", 502, TimeSpan.FromMilliseconds(1.2345), 1, 2, "refused");

        Assert.Equal(
            $$"""{"event":"request",{{Time}},"method":"GET","path":"/a","status":502,"duration_ms":1.234"""
                + ""","request_bytes":1,"response_bytes":2,"error":"refused"}""",
            await LineOf(new RequestCompletedEvent(_time, request)));
    }

    [Fact]
    public async Task Text_from_the_network_stays_in_its_string()
    {
        var rejection = new Rejection(RejectionReason.Other, "odd", "\u001b[2J\r\n\"}");
        ConnectionEnd end = ConnectionEnd.RejectedPermanently(rejection);

        string line = await LineOf(new ConnectionEndedEvent(_time, end));

        Assert.DoesNotContain(line, char.IsControl);
        using JsonDocument parsed = JsonDocument.Parse(line);
        Assert.Equal(rejection.Message, parsed.RootElement.GetProperty("message").GetString());
    }

    [Fact]
    public async Task Nothing_without_width_and_no_other_direction_is_in_a_line()
    {
        string line = await LineOf(
            new ConnectionEndedEvent(
                _time, ConnectionEnd.RejectedPermanently(new Rejection(RejectionReason.Other, "odd", "a\u202eb\u200bc\u2028d"))));

        Assert.Contains("a?b?c", line, StringComparison.Ordinal);
        Assert.DoesNotContain(line, static c => c is '\u202e' or '\u200b' or '\u2028');
    }

    [Fact]
    public async Task The_other_events_are_objects_too()
    {
        Assert.Equal(
            $$"""{"event":"connecting",{{Time}},"server":"127.0.0.1:12001"}""",
            await LineOf(new ConnectingEvent(_time, ServerEndpoint.Default)));
        Assert.Equal(
            $$"""{"event":"uplink_way",{{Time}},"server":"t.ex:443","way":"wss","message":"Uplink: over WebSocket at t.ex:443"}""",
            await LineOf(
                new RouteEvent(_time, new UplinkRoute(UplinkWay.WebSocket, new ServerEndpoint("t.ex", 443), null, null))));
        Assert.Equal(
            $$"""{"event":"reconnecting",{{Time}},"delay_seconds":0.25}""",
            await LineOf(new ReconnectingEvent(_time, TimeSpan.FromSeconds(0.25))));
        Assert.Equal($$"""{"event":"draining",{{Time}}}""", await LineOf(new DrainingEvent(_time)));
        Assert.Equal($$"""{"event":"stopped",{{Time}}}""", await LineOf(new StoppedEvent(_time)));
        Assert.StartsWith(
            $$"""{"event":"few_files",{{Time}},"message":"This process may have only 230 files open""",
            await LineOf(new FewFilesEvent(_time, 230)),
            StringComparison.Ordinal);
        Assert.Equal($$"""{"event":"lines_dropped",{{Time}},"count":9}""", await LineOf(new LinesDroppedEvent(_time, 9)));
    }
}

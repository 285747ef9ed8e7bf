using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Admin;

public sealed class AdminBodyTests
{
    [Fact]
    public async Task A_connection_that_waits_for_the_rest_of_a_body_may_give_up_its_place()
    {
        var time = new ManualTimeProvider();
        var activity = new ConnectionActivity(time);
        var body = new Pipe();
        var http = new DefaultHttpContext { Request = { Body = body.Reader.AsStream() } };
        http.Features.Set(activity);
        activity.RequestBegan();
        await body.Writer.WriteAsync("{"u8.ToArray(), TestContext.Current.CancellationToken);
        var reading = AdminBody.ReadAsync(http, 64, time).AsTask();
        time.Advance(TimeSpan.FromMilliseconds(20));
        await body.Writer.WriteAsync(" "u8.ToArray(), TestContext.Current.CancellationToken);
        time.Advance(TimeSpan.FromMilliseconds(20));

        // Bytes one by one keep no place.
        Assert.Equal(TimeSpan.FromMilliseconds(40), activity.Idle);
        await body.Writer.WriteAsync("}"u8.ToArray(), TestContext.Current.CancellationToken);
        await body.Writer.CompleteAsync();
        var (read, problem) = await reading;
        Assert.Equal(("{ }", null), (System.Text.Encoding.UTF8.GetString(read.Span), problem));
        Assert.Null(activity.Idle);
    }
}

using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Exchanges;

namespace Tunnel2.Client.Tests.Exchanges;

public sealed class RehearsalTests
{
    [Theory]
    [InlineData("http://127.0.0.1:3000", "keep")]
    [InlineData("https://service.example/base", "rewrite")]
    public void The_heads_that_are_rehearsed_are_understood_to_their_end(string service, string hostHeader)
    {
        Assert.Null(BackendTarget.TryParse(service, out var target));
        Assert.Null(HostHeaderPolicy.TryParse(hostHeader, out var policy));

        Assert.True(Rehearsal.Run(new RequestHeadEncoder(target!, policy)));
    }
}

using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>Heads of HTTP/2 visitors that are seldom and legal, and what a service of HTTP/1.1 gets of them.</summary>
public sealed class Http2HeadTests
{
    public static TheoryData<string[], string> Cookies => new()
    {
        { ["a=1", "b=2"], "a=1; b=2" },
        { ["a=1", ""], "a=1;" },
        { ["a=1", "", ""], "a=1; ;" },
        { ["", "a=1"], "; a=1" },
        { ["a=1", "", "b=2"], "a=1; ; b=2" },
        { ["", ""], ";" },
        { [""], "" },
    };

    /// <summary>RFC 9113 section 8.2.3: pieces of a cookie are joined by a semicolon and a space, however short they are.</summary>
    [Theory]
    [MemberData(nameof(Cookies))]
    public Task Pieces_of_a_cookie_are_joined_also_where_one_is_empty(string[] pieces, string expected) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var answer = await visitor.ExchangeAsync(
                Http2Visitor.Request(isTls: false, fields: [.. pieces.Select(static piece => ("cookie", piece))]));
            Assert.Equal(200, answer.Status);
            Assert.Contains($"\r\ncookie: {expected}\r\n", answer.Body, StringComparison.OrdinalIgnoreCase);
        });

    [Theory]
    [InlineData(" ")]
    [InlineData("a=1\t")]
    [InlineData(" a=1")]
    [InlineData("a=1;  ")]
    public Task A_cookie_with_white_space_around_it_is_refused_as_any_field(string cookie) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var answer = await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false, fields: ("cookie", cookie)));
            Assert.Equal(400, answer.Status);
        });
}
